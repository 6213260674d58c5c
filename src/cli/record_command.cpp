#include "cli/record_command.h"

#include <poll.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "analysis/live_store.h"
#include "cli/fix_trials.h"
#include "cli/progress.h"
#include "cli/sim_options.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/knobs.h"
#include "core/units.h"
#include "report/report_device.h"
#include "report/report_text.h"
#include "run/abort_recovery.h"
#include "run/recording_output.h"
#include "run/run.h"
#include "session/option_names.h"
#include "session/session.h"
#include "session/worker_launch.h"
#include "session/worker_process.h"

namespace highwater::cli {
namespace {

using run::Run;
using session::Session;

constexpr int kShownLastLines = 10;

/// A reader of the progress that has left ("| head -1") is no failure of the run, a full disk
/// behind stdout is.
void forgiveClosedOutput() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0) {
    std::clearerr(stdout);
  }
}

/// A run that is recorded, those that continue it, and what is printed about them.
class RecordCommand final : public QObject {
 public:
  RecordCommand(const RecordOptions& options, bool tellName)
      : options_(options),
        tellName_(tellName),
        progress_(terminalOf(stdout)),
        run_(options.launch),
        trials_(&run_, options.tried) {
    run_.recordTo({.path = options.output, .overwrites = options.force});
    connect(&run_, &Run::runReplaced, this, &RecordCommand::startOver);
    connect(&run_, &Run::stateChanged, this, &RecordCommand::onState);
    connect(&run_, &Run::dataChanged, this, &RecordCommand::onData);
    connect(&run_, &Run::stalled, this, &RecordCommand::onStalled);
    connect(&run_, &Run::problem, this, &RecordCommand::fail);
    connect(&run_, &Run::ended, this, &RecordCommand::onEnded);
    connect(&run_, &Run::continued, this, [this] {
      QString text = std::exchange(continuing_, {});
      printError(text.replace("%1", QString::fromStdString(output())).toStdString());
    });
    connect(&signals_, &StopSignals::stopRequested, this, &RecordCommand::onStopRequested);
  }

  int run() {
    if (auto started = run_.runWorkload(); !started) return failWith(started.error());
    QCoreApplication::exec();
    return code_;
  }

 private:
  [[nodiscard]] std::string output() const { return run_.recordingPath().string(); }

  void startOver() {
    elapsed_.start();
    progress_ = ProgressPrinter(terminalOf(stdout));
    seenMarkers_ = 0;
    deviceSaid_ = hasBegun_ = false;
  }

  void onState() {
    if (hasBegun_ || !run_.recording()) return;
    hasBegun_ = true;
    // Not before the worker takes the options.
    if (std::exchange(tellName_, false)) print("recording to " + output() + '\n');
    for (const FallbackAcceptance& each : options_.accepted) {
      (void)run_.acceptFallback(each.op, true, each.reason).ok();
    }
  }

  void onData() {
    if (!run_.live()) return;
    const analysis::LiveStore& store = run_.store();
    if (!deviceSaid_ && store.hello()) {
      deviceSaid_ = true;
      print("device " + report::deviceSentence(store.hello()->device) + '\n');
    }
    tellRecoveries();
    if (store.steps().records.empty()) return;
    progress_.show(
        progressOf(store, options_.launch.steps, std::chrono::milliseconds(elapsed_.elapsed())));
  }

  void tellRecoveries() {
    const auto& markers = run_.store().markers();
    for (; seenMarkers_ < markers.size(); ++seenMarkers_) {
      const events::Marker& marker = markers[seenMarkers_];
      if (marker.kind() != events::MarkerKind::Recovered) continue;
      progress_.finish();
      printError("step " + std::to_string(marker.step()) + " ran out of memory; " +
                 run_.store().markerText(marker));
    }
  }

  /// Ends a run that cannot be recorded, or not be continued.
  void fail(const QString& message) {
    failure_ = message.toStdString();
    if (run_.live()) return abort();
    if (continuing_.isEmpty()) return;  // said where it ends
    printError(failure_);
    code_ = kExitFailed;
    quit();
  }

  void abort() { QMetaObject::invokeMethod(&run_, &Run::abandon, Qt::QueuedConnection); }
  static void quit() {
    QMetaObject::invokeMethod(qApp, &QCoreApplication::quit, Qt::QueuedConnection);
  }

  void onStopRequested(int count) {
    stopRequested_ = true;
    if (!run_.live()) {
      if (!run_.continuesAtOnce()) return;
      run_.stop();  // between two runs
      return quit();
    }
    progress_.finish();
    if (count == 1 && run_.state() != Session::State::kStopping) {
      printError(run_.state() == Session::State::kStarting
                     ? "stopping; once more ends the run at once"
                     : "stopping after this step; once more ends the run at once");
      run_.stop();
    } else {
      run_.abandon();
    }
  }

  void onStalled(const QString& message) {
    progress_.finish();
    if (!options_.endStalled) {
      printError(message.toStdString() + "; Ctrl+C ends the run, and keeps its recording");
      return;
    }
    printError(message.toStdString() + "; " + endOfStall());
    abort();
  }

  [[nodiscard]] std::string endOfStall() const {
    const auto limits = session::readSupervisionLimits();
    const std::string limit = limits ? std::to_string(limits->silence.count()) : "?";
    return "--end-stalled ends the run there, after " + limit +
           " ms without progress, and keeps its recording: 'highwater report " + output() +
           "' says what was open; if an op may take longer, raise HIGHWATER_HANG_TIMEOUT_MS";
  }

  void onEnded(const RunEnd& end) {
    continuing_.clear();
    code_ = conclude(end);
    signals_.readPending();  // who stops the run while it is being completed
    if (stopRequested_ || !failure_.empty()) {
      run_.stop();
    } else if (const QString why = run_.whyNotContinued(); !why.isEmpty()) {
      printError("not continued: " + why.toStdString());
    }
    if (!run_.continuesAtOnce()) {
      trials_.conclude();
      return quit();
    }
    continuing_ = continuingText();
  }

  /// With what the run is continued, to which %1 the recording is; said when that has begun.
  [[nodiscard]] QString continuingText() const {
    const run::AbortRecovery::Next& next = *run_.continuation();
    const QString how = next.fromStep > 0
                            ? QStringLiteral("continuing from step %1").arg(next.fromStep)
                            : QStringLiteral("starting anew");
    if (next.startsAgain) return next.how + "; " + how + " once more";
    const auto& steps = run_.store().steps().records;
    // The checkpoint may be newer than the last step that was received.
    const std::uint32_t last = steps.empty() ? 0 : steps.back().step();
    const std::uint32_t again = last > next.fromStep ? last - next.fromStep : 0;
    const std::string batch =
        knobChangeText(*knobOf(events::MarkerKind::BatchSize), run_.store().knobs().batchSize,
                       next.options.batchSize);
    return how + ", " + QString::fromStdString(batch) + ", recording to %1" +
           (again == 0   ? QString()
            : again == 1 ? QStringLiteral("; 1 step is trained again")
                         : QStringLiteral("; %1 steps are trained again").arg(again));
  }

  [[nodiscard]] int conclude(const RunEnd& end) {
    progress_.finish();
    const analysis::LiveStore& store = run_.store();
    const std::string recording = run_.recordingLine();
    if (!recording.empty() && !store.steps().records.empty()) {
      print('\n' + report::runResult(store, textWidth(stdout)));
    }
    if (!recording.empty()) print("Recording  " + recording + '\n');
    if (!failure_.empty()) {
      printError(failure_);
      return kExitFailed;
    }
    if (end.reason != RunEnd::Reason::kFinished) printEnd(end);
    forgiveClosedOutput();
    return session::exitCodeFor(end);
  }

  void printEnd(const RunEnd& end) const {
    const QStringList lines = run_.lastLines();
    const QString message = QString::fromStdString(end.message);
    // The lines of a worker that could not start, signed or not, are usually the message itself.
    const bool allSaid = std::all_of(lines.begin(), lines.end(), [&message](const QString& line) {
      const QString unsignedLine = line.section(QStringLiteral(": "), 2);
      return message.endsWith(line) || line.endsWith(message) ||
             (!unsignedLine.isEmpty() && message.endsWith(unsignedLine));
    });
    if (end.reason != RunEnd::Reason::kStopped && !lines.isEmpty() && !allSaid) {
      printError("the worker's last lines:");
      for (const QString& line :
           lines.mid(std::max<qsizetype>(0, lines.size() - kShownLastLines))) {
        std::fputs(("  " + asGiven(line.toStdString()) + '\n').c_str(), stderr);
      }
    }
    printError(asGiven(end.message));
  }

  [[nodiscard]] std::string asGiven(const std::string& message) const {
    return session::withOptionNames(message, options_.launch.environment);
  }

  const RecordOptions& options_;
  bool tellName_;  ///< the name of the recording was made, so that the user must be told of it
  ProgressPrinter progress_;
  StopSignals signals_;
  QElapsedTimer elapsed_;
  std::size_t seenMarkers_ = 0;
  bool deviceSaid_ = false, hasBegun_ = false, stopRequested_ = false;
  std::string failure_;
  QString continuing_;  ///< see continuingText(); empty while nothing is to be continued
  int code_ = kExitFailed;
  Run run_;
  FixTrials trials_;
};

}  // namespace

int runRecord(const RecordOptions& asked) {
  RecordOptions options = asked;
  const bool named = !options.output.empty();
  if (!named) options.output = run::newOutputName(options.launch.trained());
  warnOfLiftedLimit(options.launch.device, options.launch.environment);
  // The run and its recording go on without a reader of the progress ("| head -1").
  std::signal(SIGPIPE, SIG_IGN);
  if (auto usable = run::checkOutput(options.output, options.force); !usable)
    return failWith(usable.error());
  return RecordCommand(options, !named).run();
}

}  // namespace highwater::cli
