#include "cli/run_command.h"

#include <sys/types.h>

#include <QCoreApplication>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "analysis/live_store.h"
#include "cli/fix_trials.h"
#include "cli/script_exit.h"
#include "cli/sim_options.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/simulation.h"
#include "report/report_text.h"
#include "report/text_wrap.h"
#include "run/recording_output.h"
#include "run/run.h"
#include "session/describe_worker.h"
#include "session/run_end.h"
#include "session/script_process.h"
#include "session/session.h"
#include "session/shell_words.h"
#include "session/start_signals.h"
#include "session/stdio_host.h"

namespace highwater::cli {
namespace {

using run::Run;

/// The program that SIGTERM and SIGHUP are passed on to; 0: none.
volatile std::sig_atomic_t programId = 0;
/// The signal that came before there was a program; 0: none.
volatile std::sig_atomic_t earlySignal = 0;

/// A terminal sends these to the program too.
bool isOfTerminal(int signal) {
  return signal == SIGINT || signal == SIGQUIT;
}

extern "C" void passOn(int signal) {
  if (programId == 0) {
    if (earlySignal == 0 || !isOfTerminal(signal)) earlySignal = signal;
  } else if (!isOfTerminal(signal)) {
    ::kill(static_cast<pid_t>(programId), signal);
  }
}

/// The run of the user's program, and what is printed about it.
class ScriptCommand final : public QObject {
 public:
  /// `other` is the host on another machine that the run is for; nullptr: this one.
  ScriptCommand(const ScriptCommandOptions& options, session::StdioHost* other)
      : script_(options.script),
        quiet_(options.quiet),
        tellsName_(options.output.empty() && !other),
        other_(other),
        run_({}),
        trials_(&run_, options.tried) {
    // What it prints must go somewhere when the connection is gone.
    script_.isHeard = other_ != nullptr;
    script_.mayDropOutput = script_.isHeard;
    if (other_) {
      run_.setListener(other_);
      connect(other_, &session::StdioHost::commanded, &run_, &Run::relay);
    }
    // Before the program does its work, so that another run that writes the file is noticed.
    if (!options.output.empty()) {
      run_.recordTo({options.output, options.force, run::RecordingTarget::Begins::kAtOnce});
    }
    connect(&run_, &Run::linePrinted, this, [this](const QString& line) {
      if (!script_.isHeard) printError(line.toStdString());
    });
    connect(&run_, &Run::stateChanged, this, [this] {
      // The name is made: it is told as soon as there is such a file.
      if (tellsName_ && run_.recording()) {
        tellsName_ = false;
        printError("recording to " + run_.recordingPath().string());
      }
      if (run_.state() == session::Session::State::kEnded && !run_.store().run()) {
        run_.dropRecording();
      }
    });
    // Said soon: the training may go on for days.
    connect(&run_, &Run::problem, this, [this](const QString& problem) {
      if (!run_.live()) return;  // said at the end
      printError(problem.toStdString() + "; the training goes on, and what comes is not recorded");
    });
    connect(&run_, &Run::ended, this, [this](const RunEnd& end) {
      end_ = end;
      quitWhenAllEnded();
    });
    connect(&run_, &Run::scriptEnded, this, [this] {
      programId = 0;  // the system may give the number to another process
      quitWhenAllEnded();
    });
  }

  /// Sends signals to this process on to the program on another machine.
  void sendOn(const StopSignals& stops) {
    connect(&stops, &StopSignals::stopRequested, this, [this](int count, int signal) {
      // A terminal that is closed is no reason to end a training on another machine.
      if (count < kLettingGo && signal != SIGHUP) return run_.signalScript(signal);
      run_.abandon();  // the connection may be stuck
      QCoreApplication::quit();
    });
  }

  int run() {
    {
      const session::StartSignals terminals;
      if (earlySignal != 0) return exitAs({0, static_cast<int>(earlySignal)});
      if (auto started = run_.runScript(script_, {}); !started) return refuse(started.error());
      if (other_) other_->sayStarted(QString::fromStdString(run_.recordingPath().string()));
      programId = static_cast<std::sig_atomic_t>(run_.scriptProcessId());
      // It came while the program was started. One of a terminal the program has got.
      if (const int early = earlySignal; early != 0 && !isOfTerminal(early)) {
        run_.signalScript(early);
      }
    }
    QCoreApplication::exec();
    if (other_) {
      other_->flush();
      const auto exit = run_.scriptExit();
      return exit ? session::shellExitCode(*exit) : session::exitCodeFor(end_);
    }
    if (!run_.scriptExit()) {  // it could not be started, or goes on elsewhere
      run_.store().run() ? conclude() : printError(end_.message);
      return session::exitCodeFor(end_);
    }
    conclude();
    return exitAs(*run_.scriptExit());
  }

 private:
  int refuse(const Error& error) {
    const bool isUsage = error.code == ErrorCode::kNotFound || error.code == ErrorCode::kUsage;
    if (other_) {  // which prints it
      other_->sayNotStarted(QString::fromStdString(error.message));
      return isUsage ? kExitUsage : kExitFailed;
    }
    const bool isFolder = error.code == ErrorCode::kNoPermission;
    printError(error.message + (isFolder ? "; name the recording: --record FILE" : ""));
    return isUsage ? kExitUsage : kExitFailed;
  }

  void quitWhenAllEnded() {
    if (run_.live() || run_.scriptRuns()) return;
    QMetaObject::invokeMethod(qApp, &QCoreApplication::quit, Qt::QueuedConnection);
  }

  void conclude() {
    const analysis::LiveStore& store = run_.store();
    if (!store.run()) return sayWhyNothingWasRecorded();
    trials_.conclude();
    if (const std::string problem = run_.recordingProblem(); !problem.empty()) printError(problem);
    if (!quiet_) {
      tellResult();
    } else if (store.dropped() > 0) {
      printError(std::to_string(store.dropped()) + " events were lost under load");
    }
    // A program that is stopped here was interrupted.
    if (end_.reason != RunEnd::Reason::kFinished) {
      say(report::hangingText("Ended      ", end_.message, 11, textWidth(stderr)));
    }
    if (const qint64 left = run_.processLeftBehind(); left != 0) {
      say("Not recorded  process " + std::to_string(left) +
          ", which the program has started, goes on\n");
    }
  }

  void tellResult() const {
    const analysis::LiveStore& store = run_.store();
    say("\n");  // the program's last line may be open
    say(report::runResult(store, textWidth(stderr)));
    say("Recording  " + run_.recordingLine() + '\n');
    if (const QString there = run_.remoteRecording(); !there.isEmpty()) {
      say("There      " + there.toStdString() + '\n');
    }
    QString path = QString::fromStdString(run_.recordingPath().string());
    if (path.startsWith(u'-')) path.prepend(QStringLiteral("./"));
    say("More       highwater report " + session::quoteShellWord(path).toStdString() + '\n');
    const bool onCpu = store.hello() && store.hello()->device.selected == "cpu";
    if (kHasSimulation && !script_.simulated && onCpu) {
      say("The training ran on the CPU: " + std::string(session::kSimulationHint) + '\n');
    }
  }

  void sayWhyNothingWasRecorded() const {
    const bool trained = run_.store().hello().has_value(), planned = session::endedAsPlanned(end_);
    if (planned && !trained) return printError(end_.message);
    printError("nothing was recorded: " +
               (planned ? std::string("the training did not complete a step") : end_.message));
  }

  static void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

  session::ScriptOptions script_;
  bool quiet_, tellsName_;
  session::StdioHost* other_;
  RunEnd end_;
  Run run_;
  FixTrials trials_;
};

}  // namespace

int runScript(const ScriptCommandOptions& options) {
  if (!options.output.empty()) {
    if (auto usable = run::checkOutput(options.output, options.force); !usable) {
      return failWith(usable.error());
    }
  }
  const bool isHere = options.script.host.isEmpty();
  if (isHere) warnOfLiftedLimit("mps", options.script.environment);
  std::signal(SIGPIPE, SIG_IGN);  // the program's
  // Who ends this program means the training.
  for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    if (std::signal(each, &passOn) == SIG_IGN) std::signal(each, SIG_IGN);  // as by nohup
  }
  if (isHere) {
    if (auto usable = session::checkSimulatedSettings(options.script); !usable) {
      printError(usable.error().message);
      return kExitUsage;
    }
  }
  std::unique_ptr<session::StdioHost> other;
  if (options.stdio) {
    auto greeted = session::StdioHost::greet();
    if (!greeted) return failWith(greeted.error());
    other = std::move(*greeted);
  }
  ScriptCommand command(options, other.get());
  if (isHere) return command.run();
  const StopSignals stops;
  command.sendOn(stops);
  return command.run();
}

}  // namespace highwater::cli
