#include "cli/run_command.h"

#include <sys/types.h>

#include <QCoreApplication>
#include <QTimer>
#include <chrono>
#include <csignal>
#include <memory>

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "cli/script_exit.h"
#include "cli/sim_options.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/simulation.h"
#include "report/report_text.h"
#include "run/recording_output.h"
#include "session/describe_worker.h"
#include "session/run_end.h"
#include "session/script_process.h"
#include "session/session.h"
#include "session/start_signals.h"
#include "session/worker_process.h"

namespace highwater::cli {
namespace {

using session::ScriptProcess;
using session::Session;

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

/// The user's program, and the session with the process in it that trains.
class ScriptRun final : public QObject {
 public:
  explicit ScriptRun(const ScriptCommandOptions& options)
      : simulated_(options.script.simulated),
        output_(options.output, options.force),
        command_(options.script.command),
        script_(options.script, ScriptProcess::Output::kForwarded) {
    connect(&script_, &ScriptProcess::connected, this, &ScriptRun::onConnected);
    connect(&script_, &ScriptProcess::ended, this, &ScriptRun::onScriptEnded);
    connect(&script_, &ScriptProcess::refused, this,
            [](const QString& reason) { printError(reason.toStdString()); });
    connect(&writingCheck_, &QTimer::timeout, this, &ScriptRun::checkWriting);
    writingCheck_.start(std::chrono::seconds(1));
  }

  int run() {
    // Before the program does its work, so that another run that writes the file is noticed.
    if (auto begun = output_.begin(); !begun) return refuse(begun.error());
    const session::StartSignals terminals;
    if (earlySignal != 0) {
      output_.discard();
      return exitAs({0, static_cast<int>(earlySignal)});
    }
    if (auto started = script_.start(); !started) {
      output_.discard();
      return refuse(started.error());
    }
    programId = static_cast<std::sig_atomic_t>(script_.processId());
    // It came while the program was started. One of a terminal the program has got.
    if (const int early = earlySignal; early != 0 && !isOfTerminal(early)) script_.send(early);
    QCoreApplication::exec();
    conclude();
    return exitAs({script_.exitCode(), script_.signal()});
  }

 private:
  /// Says soon that the recording has failed: the training may go on for days.
  void checkWriting() {
    const std::string problem = output_.errorText();
    if (problem.empty()) return;
    writingCheck_.stop();
    printError(problem + "; the training goes on, and what comes is not recorded");
  }

  void onConnected() {
    auto connection = script_.takeConnection();
    if (!connection) return;
    session_ = std::make_unique<Session>(std::move(*connection), session::LaunchOptions{});
    session_->addSink(&store_);
    session_->addSink(&output_);
    connect(session_.get(), &Session::ended, this, &ScriptRun::quitWhenAllEnded);
    session_->expectProgram(session::programText(command_));
    session_->start();
  }

  static int refuse(const Error& error) {
    printError(error.message);
    return error.code == ErrorCode::kNotFound ? kExitUsage : kExitFailed;
  }

  void onScriptEnded() {
    programId = 0;  // the system may give the number to another process
    if (!session_ || session_->state() == Session::State::kEnded) return quitWhenAllEnded();
    session_->programHasEnded({script_.exitCode(), script_.signal()}, script_.disconnectReason());
  }

  void quitWhenAllEnded() {
    const bool sessionEnded = !session_ || session_->state() == Session::State::kEnded;
    if (script_.hasEnded() && sessionEnded) {
      QMetaObject::invokeMethod(qApp, &QCoreApplication::quit, Qt::QueuedConnection);
    }
  }

  void conclude() {
    if (!store_.run()) {
      output_.discard();
      printError("nothing was recorded: " + whyNothingWasRecorded());
      return;
    }
    if (auto closed = output_.close(); !closed) printError(output_.errorText());
    say("\n");  // the program's last line may be open
    if (!store_.steps().records.empty()) {
      say(report::shortSummary(store_, analysis::summarize(store_), textWidth(stderr)));
    } else {
      for (const analysis::Finding& each : analysis::findProblems(store_).found) {
        say(each.title + ": " + each.advice + '\n');
      }
    }
    say("Recording  " + output_.line() + '\n');
    if (const RunEnd& end = *session_->end(); !session::endedAsPlanned(end)) {
      say("Ended      " + end.message + '\n');
    }
    if (const qint64 left = script_.leftBehind(); left != 0) {
      say("Not recorded  process " + std::to_string(left) +
          ", which the program has started, goes on\n");
    }
    const bool onCpu = store_.hello() && store_.hello()->device.selected == "cpu";
    if (kHasSimulation && !simulated_ && onCpu) {
      say("The training ran on the CPU: " + std::string(session::kSimulationHint) + '\n');
    }
  }

  /// The process that trained had connected, or not.
  [[nodiscard]] std::string whyNothingWasRecorded() const {
    if (!session_ && script_.signal() != 0) {
      return "the program was killed by " + session::signalText(script_.signal()).toStdString() +
             " before it trained; " + script_.whyNothingTrained();
    }
    if (!session_ || !script_.whyUnwatched().empty()) return script_.whyNothingTrained();
    const RunEnd& end = *session_->end();
    return session::endedAsPlanned(end) ? "the training did not complete a step" : end.message;
  }

  static void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

  const bool simulated_;
  analysis::LiveStore store_;
  run::RecordingOutput output_;
  QStringList command_;
  ScriptProcess script_;
  std::unique_ptr<Session> session_;
  QTimer writingCheck_;
};

}  // namespace

int runScript(const ScriptCommandOptions& options) {
  if (auto usable = run::checkOutput(options.output, options.force); !usable) {
    printError(usable.error().message);
    return usable.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
  }
  warnOfLiftedLimit("mps", options.script.environment);
  std::signal(SIGPIPE, SIG_IGN);  // the program's
  // Who ends this program means the training.
  for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    if (std::signal(each, &passOn) == SIG_IGN) std::signal(each, SIG_IGN);  // as by nohup
  }
  if (auto usable = session::checkSimulatedSettings(options.script); !usable) {
    printError(usable.error().message);
    return kExitUsage;
  }
  return ScriptRun(options).run();
}

}  // namespace highwater::cli
