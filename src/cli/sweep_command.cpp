#include "cli/sweep_command.h"

#include <unistd.h>

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTimer>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "analysis/live_store.h"
#include "cli/sim_options.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/simulation.h"
#include "core/units.h"
#include "report/report_device.h"
#include "report/report_sweep.h"
#include "report/text_wrap.h"
#include "run/recording_output.h"
#include "run/run.h"
#include "run/script_setting.h"
#include "run/sweep_run.h"
#include "session/describe_worker.h"
#include "session/option_names.h"
#include "session/script_process.h"
#include "session/session.h"

namespace highwater::cli {
namespace {

using run::Run;
using run::SweepRun;
using tuning::SweptSetting;

std::string padded(const std::string& text, std::size_t width, bool isLeft = false) {
  const std::size_t has = report::widthOf(text);
  const std::string space(width > has ? width - has : 0, ' ');
  return isLeft ? text + space : space + text;
}

/// A line of the table up to the reason. The widths are fixed, because rows are printed as they
/// come.
std::string lineOf(const std::vector<std::string>& cells) {
  constexpr std::size_t kWidths[] = {2, 10, 10, 10, 10, 7, 8, 9, 6};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += (i == 0 ? "" : " ") + padded(cells[i], kWidths[i], i == 1);
  }
  return line;
}

/// A run that is swept, and what is printed about it.
class SweepCommand final : public QObject {
 public:
  SweepCommand(const SweepCommandOptions& options, bool tellName)
      : options_(options), tellName_(tellName), run_(options.launch) {
    run_.recordTo({.path = options.output, .overwrites = options.force});
    connect(&run_, &Run::stateChanged, this, &SweepCommand::onState);
    connect(&run_, &Run::dataChanged, this, &SweepCommand::sayDevice);
    connect(&run_, &Run::sweepChanged, this, &SweepCommand::onSweepChanged);
    connect(&run_, &Run::stalled, this, [this](const QString& message) {
      if (failure_.empty()) printError(message.toStdString() + "; Ctrl+C ends the sweep");
    });
    connect(&run_, &Run::problem, this, &SweepCommand::onProblem);
    connect(&run_, &Run::ended, this, [this](const RunEnd& end) {
      end_ = end;
      quitIfOver();
    });
    connect(&run_, &Run::scriptEnded, this, &SweepCommand::quitIfOver);
    connect(&stillRuns_, &QTimer::timeout, this, &SweepCommand::onStillRuns);
    connect(&signals_, &StopSignals::stopRequested, this, &SweepCommand::onStopRequested);
  }

  int run() {
    auto started = options_.script ? run_.runScript(*options_.script, {}) : run_.runWorkload();
    if (!started) return failWith(started.error());
    QCoreApplication::exec();
    return conclude();
  }

 private:
  void say(const std::string& text) const {
    if (!options_.json) print(text);
  }

  [[nodiscard]] bool hasMeasured() const {
    return run_.sweep() && !run_.sweep()->settings().empty();
  }

  [[nodiscard]] std::string programName() const {
    return session::programText(options_.script->command).toStdString();
  }

  void onState() {
    const bool ends = run_.state() == session::Session::State::kEnded;
    if (ends && !failure_.empty() && !hasMeasured()) run_.dropRecording();
    if (!run_.recording() || std::exchange(hasBegun_, true)) return;
    if (tellName_) say("recording to " + options_.output + '\n');
    if (auto started = run_.startSweep(options_.sweep); !started) return fail(started.error());
    sayHead();
  }

  /// Once the sweep knows what it may try: of a program that is after its first steps.
  void sayHead() {
    const SweepRun& sweep = *run_.sweep();
    // A limit is known with the first setting.
    const bool knows = !options_.script || sweep.current() || !sweep.settings().empty();
    if (!knows || std::exchange(headSaid_, true)) return;
    if (sweep.script()) sayScript(*sweep.script());
    if (!sweep.hasMemory()) {
      say("the CPU has no device memory: only throughput is compared" +
          (options_.script && kHasSimulation ? "; " + std::string(session::kSimulationHint)
                                             : std::string()) +
          '\n');
    } else if (sweep.limitBytes() > 0) {
      say("no setting may exceed " + formatBytes(sweep.limitBytes()) +
          " of driver memory: the recommended maximum less the reserve\n");
    } else {
      say("the recommended maximum of this device is unknown: no limit is kept\n");
    }
    say('\n' + lineOf(report::sweepHeadings(run_.store())) + "  why\n");
  }

  void sayScript(const run::ScriptSetting& script) const {
    std::string text = programName() + " trains at " + tuning::settingText(script.own()) +
                       "; the sweep turns " + script.batchKnob();
    if (!script.declaredAt().empty()) text += " (" + script.declaredAt() + ')';
    if (const std::uint32_t value = script.batchValue(script.own()); value != script.own().batch) {
      text += ", which is " + std::to_string(value) + " there";
    }
    text += ", and then interrupts the program, as Ctrl+C does";
    if (script.lengthsVary()) {
      text +=
          ". Its batches have different lengths: a setting's memory is that of its steps' longest";
    }
    say(report::hangingText("", text, 0, textWidth(stdout)));
    if (!script.warning().empty()) {
      say(report::hangingText("Note: ", script.warning(), 6, textWidth(stdout)));
    }
  }

  void sayDevice() {
    const auto& hello = run_.store().hello();
    if (!run_.live() || !hello || std::exchange(deviceSaid_, true)) return;
    say("device " + report::deviceSentence(hello->device) + '\n');
  }

  void sayRow(std::size_t number, const SweptSetting& row) const {
    const std::string line = lineOf(report::sweepCells(number, row)) + "  ";
    say(report::hangingText(line, report::sweepReason(row), kReasonHang, textWidth(stdout)));
  }

  /// Prints the settings that are complete: whether one is safe is known with the next plan.
  void onSweepChanged() {
    const SweepRun* sweep = run_.sweep();
    if (!sweep) return;
    sayHead();
    printed_.resize(sweep->settings().size());
    for (std::size_t i = 0; i < printed_.size(); ++i) {
      const SweptSetting& each = sweep->settings()[i];
      // What is measured again, or not as safe as it seemed, is printed once more at the end.
      const bool isNew = !printed_[i];
      if (!isNew && sweep->isRunning()) continue;
      const std::string row = lineOf(report::sweepCells(i + 1, each)) + report::sweepReason(each);
      if (printed_[i] == row) continue;
      printed_[i] = row;
      sayRow(i + 1, each);
    }
    if (sweep->isRunning() || std::exchange(isOver_, true)) return;
    for (const SweptSetting& each : sweep->result().leftOut) sayRow(0, each);
    if (options_.script) return endProgram();
    if (!run_.live()) return quitIfOver();
    run_.stop();
  }

  /// Interrupts the program, unless a terminal has done so already.
  void endProgram() {
    if (!run_.scriptRuns()) return quitIfOver();
    stepsAtStop_ = run_.store().steps().records.size();
    stillRuns_.start(kStopPatience);
    if (terminalInterrupted_) return;
    if (run_.live()) {
      run_.stop();
    } else {
      run_.signalScript(SIGINT);
    }
  }

  /// A program that still trains ignores the interrupt, as what a shell starts in the background
  /// does. One that has stopped to train may save its model.
  void onStillRuns() {
    const std::size_t steps = run_.store().steps().records.size();
    const bool trains = run_.live() && steps > stepsAtStop_;
    stepsAtStop_ = steps;
    if (trains && !std::exchange(terminated_, true)) {
      printError(programName() + " trains on though it was interrupted; it is terminated");
      run_.signalScript(SIGTERM);
    } else if (!std::exchange(announced_, true)) {
      printError(programName() + " has not ended; Ctrl+C kills it");
    }
  }

  void quitIfOver() {
    if (run_.live() || run_.sweeps() || run_.scriptRuns()) return;
    QMetaObject::invokeMethod(qApp, &QCoreApplication::quit, Qt::QueuedConnection);
  }

  void fail(const Error& error) {
    if (!failure_.empty()) return;
    failure_ = error.message;
    failureCode_ = error.code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
    if (options_.script) {
      printError(failure_);
      isOver_ = true;
      QMetaObject::invokeMethod(this, &SweepCommand::endProgram, Qt::QueuedConnection);
      return;
    }
    QMetaObject::invokeMethod(&run_, &Run::abandon, Qt::QueuedConnection);
  }

  void onProblem(const QString& message) {
    const std::string problem = message.toStdString();
    if (run_.live()) return fail(failure(problem));
    // That of the recording is said at the end.
    if (problem != run_.recordingProblem()) printError(problem);
  }

  void onStopRequested(int count, int signal) {
    if (options_.script) return onProgramStopRequested(signal);
    interrupted_ = true;
    if (count > 1 || !run_.sweeps()) return run_.abandon();
    printError("stopping, and keeping what was measured; once more ends the run at once");
    // A step of a large batch may take long, and nobody needs its end.
    QTimer::singleShot(run::kSweepStopGrace, &run_, &Run::abandon);
    run_.stopSweep();
  }

  /// A terminal interrupts the program too; of another signal only this process is told. At the
  /// next time the program is killed.
  void onProgramStopRequested(int signal) {
    if (std::exchange(announced_, true)) return run_.killScript();
    if (!isOver_) interrupted_ = true;
    terminalInterrupted_ = signal == SIGINT && ::isatty(STDIN_FILENO) != 0;
    printError(isOver_ ? "waiting for " + programName() + " to end; once more kills it"
                       : "stopping, and keeping what was measured; once more kills the program");
    if (run_.sweeps()) return run_.stopSweep();  // its end ends the program
    if (!isOver_) endProgram();
  }

  int conclude() {
    if (failure_.empty()) failure_ = run_.recordingProblem();
    const SweepRun* sweep = run_.sweep();
    if (sweep && options_.json) printJson(*sweep);
    if (sweep && !options_.json) {
      const auto& result = sweep->result();
      const std::string first =
          result.best ? "Recommended  " + tuning::shortSettingText(*result.best) + ": "
                      : "Recommended  nothing: ";
      print('\n' + report::hangingText(first, result.reason, kSummaryHang, textWidth(stdout)));
      sayLargestSafe(result);
      if (sweep->script() && result.best) sayHowToSet(*sweep->script(), *result.best);
      if (const std::string line = run_.recordingLine(); !line.empty()) {
        print("Recording    " + line + '\n');
      }
    }
    if (!failure_.empty()) {
      if (!options_.script) printError(failure_);  // else it is said at once
      return failureCode_;
    }
    if (!sweep && interrupted_) {
      printError("interrupted before the first setting was measured; nothing was recorded");
      return kExitEndedEarly;
    }
    if (!sweep) {
      printError(session::withOptionNames(end_.message, options_.launch.environment));
      return session::exitCodeFor(end_);
    }
    if (interrupted_) {
      const std::size_t count = sweep->settings().size();
      printError("interrupted: " +
                 (count == 0   ? std::string("no setting was")
                  : count == 1 ? std::string("1 setting was")
                               : std::to_string(count) + " settings were") +
                 " measured; " + options_.output + " keeps the run" +
                 (count == 0 ? "" : " and what was measured"));
      return kExitEndedEarly;
    }
    if (!sweep->stopReason().empty()) {
      printError(session::withOptionNames(sweep->stopReason(), options_.launch.environment));
      return hasMeasured() ? kExitEndedEarly : kExitFailed;
    }
    if (!sweep->result().best) {
      printError("no setting is recommended: " + sweep->result().reason);
      return kExitFailed;
    }
    return kExitDone;
  }

  /// The largest batch of the recommended length that was measured under the limit, where it is
  /// another one.
  static void sayLargestSafe(const tuning::Sweep& result) {
    const tuning::SweptSetting* largest = nullptr;
    for (const tuning::SweptSetting& each : result.settings) {
      const bool isOfIt = each.safe && result.best && each.setting.length == result.best->length;
      if (isOfIt && (!largest || each.setting.batch > largest->setting.batch)) largest = &each;
    }
    if (!largest || largest->peakDriver == 0 || largest->setting == *result.best) return;
    print(report::hangingText("Largest safe ",
                              tuning::shortSettingText(largest->setting) + " of those measured: " +
                                  formatBytes(largest->peakDriver) + " of driver memory",
                              kSummaryHang, textWidth(stdout)));
  }

  void sayHowToSet(const run::ScriptSetting& script, tuning::Setting best) const {
    print(report::hangingText("Set it with  ", script.howToSet(best, options_.script->command),
                              kSummaryHang, textWidth(stdout)));
  }

  /// What the program's knob has at the recommended setting.
  [[nodiscard]] QJsonObject knobJson(const run::ScriptSetting& script,
                                     const tuning::Sweep& result) const {
    QJsonObject object{{"name", QString::fromStdString(script.batchKnob())},
                       {"own", static_cast<qint64>(script.batchValue(script.own()))}};
    if (!result.best) return object;
    object["recommended"] = static_cast<qint64>(script.batchValue(*result.best));
    object["set_with"] =
        QString::fromStdString(script.howToSet(*result.best, options_.script->command));
    return object;
  }

  void printJson(const SweepRun& sweep) const {
    QJsonArray settings;
    for (const SweptSetting& each : sweep.settings()) settings.append(report::sweptJson(each));
    const tuning::Sweep& result = sweep.result();
    QJsonArray leftOut;
    for (const SweptSetting& each : result.leftOut) leftOut.append(report::leftOutJson(each));
    QJsonObject object{
        {"schema", 1},
        {"device_memory", sweep.hasMemory()},
        {"limit", sweep.limitBytes() > 0 ? QJsonValue(static_cast<qint64>(sweep.limitBytes()))
                                         : QJsonValue()},
        {"settings", settings},
        {"left_out", leftOut},
        {"rate_unit", QString::fromLatin1(run_.store().rateUnit().data(),
                                          qsizetype(run_.store().rateUnit().size()))},
        {"complete", result.complete},
        {"recommended", result.best ? report::settingJson(*result.best) : QJsonValue()},
        {"reason", QString::fromStdString(result.reason)},
        {"stopped",
         sweep.stopReason().empty() ? QJsonValue() : QString::fromStdString(sweep.stopReason())},
        {"knob", sweep.script() ? knobJson(*sweep.script(), result) : QJsonValue()},
        {"recording", run_.recordingPath().empty()
                          ? QJsonValue()
                          : QJsonValue(QString::fromStdString(options_.output))}};
    print(QJsonDocument(object).toJson().toStdString());
  }

  static constexpr std::size_t kReasonHang = 4, kSummaryHang = 13;
  static constexpr std::chrono::seconds kStopPatience{20};

  const SweepCommandOptions& options_;
  const bool tellName_;
  StopSignals signals_;
  QTimer stillRuns_;
  bool deviceSaid_ = false, hasBegun_ = false, headSaid_ = false, isOver_ = false,
       interrupted_ = false;
  bool terminalInterrupted_ = false, terminated_ = false;
  bool announced_ = false;                           ///< that the next interrupt kills the program
  std::vector<std::optional<std::string>> printed_;  ///< of each setting, the last time
  std::size_t stepsAtStop_ = 0;
  std::string failure_;
  int failureCode_ = kExitFailed;
  RunEnd end_;
  Run run_;
};

}  // namespace

int runSweep(const SweepCommandOptions& asked) {
  SweepCommandOptions options = asked;
  const bool isNamed = !options.output.empty();
  if (!isNamed) options.output = run::newOutputName("sweep");
  std::signal(SIGPIPE, SIG_IGN);
  warnOfLiftedLimit(options.launch.device, options.launch.environment);
  if (options.script) {
    if (auto usable = session::checkSimulatedSettings(*options.script); !usable) {
      printError(usable.error().message);
      return kExitUsage;
    }
  }
  if (auto usable = run::checkOutput(options.output, options.force); !usable)
    return failWith(usable.error());
  return SweepCommand(options, !isNamed).run();
}

}  // namespace highwater::cli
