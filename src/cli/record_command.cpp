#include "cli/record_command.h"

#include <poll.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "cli/progress.h"
#include "cli/sim_options.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/knobs.h"
#include "core/units.h"
#include "report/report_text.h"
#include "run/abort_recovery.h"
#include "run/recording_output.h"
#include "session/checkpoint_files.h"
#include "session/option_names.h"
#include "session/session.h"
#include "session/worker_launch.h"
#include "session/worker_process.h"

namespace highwater::cli {
namespace {

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

/// One recorded run: a session, the sinks, and what is printed about it.
class RecordRun final : public QObject {
 public:
  /// `tellName`: the name of the recording was made, so that the user must be told of it.
  RecordRun(const RecordOptions& options, bool tellName)
      : options_(options),
        tellName_(tellName),
        output_(options.output, options.force),
        progress_(terminalOf(stdout)),
        session_(options.launch) {
    session_.addSink(&store_);
    session_.addSink(&output_);
    connect(&session_, &Session::stateChanged, this, &RecordRun::onState);
    connect(&session_, &Session::received, this, &RecordRun::onReceived);
    connect(&session_, &Session::stalled, this, &RecordRun::onStalled);
    connect(&session_, &Session::ended, this, &RecordRun::onEnded);
    connect(&signals_, &StopSignals::stopRequested, this, &RecordRun::onStopRequested);
  }

  int run(run::AbortRecovery& recovery) {
    elapsed_.start();
    session_.start();
    QCoreApplication::exec();
    findNext(recovery);
    const int code = conclude();
    signals_.readPending();  // who stops the run while it is being completed
    return code;
  }

  /// The options of the run that continues this one, which has ended; nullopt where nothing is to
  /// be continued. Prints why, or with what. `firstOutput` is the recording of the first run.
  [[nodiscard]] std::optional<RecordOptions> next(const std::string& firstOutput) const {
    if (!whyNotContinued_.empty()) printError("not continued: " + whyNotContinued_);
    if (!next_ || stopRequested_ || !failure_.empty()) return std::nullopt;
    RecordOptions next = options_;
    next.launch = next_->options;
    const std::string how = next_->fromStep > 0
                                ? "continuing from step " + std::to_string(next_->fromStep)
                                : std::string("starting anew");
    if (next_->startsAgain) {
      printError(next_->how.toStdString() + "; " + how + " once more");
      return next;
    }
    next.output = run::continuationName(firstOutput);
    const auto& steps = store_.steps().records;
    // The checkpoint may be newer than the last step that was received.
    const std::uint32_t last = steps.empty() ? 0 : steps.back().step();
    const std::uint32_t again = last > next_->fromStep ? last - next_->fromStep : 0;
    printError(how + ", " +
               knobChangeText(*knobOf(events::MarkerKind::BatchSize), store_.knobs().batchSize,
                              next_->options.batchSize) +
               ", recording to " + next.output +
               (again == 0   ? ""
                : again == 1 ? "; 1 step is trained again"
                             : "; " + std::to_string(again) + " steps are trained again"));
    return next;
  }

 private:
  void onState(Session::State state) {
    if (state != Session::State::kRunning || output_.begun()) return;
    if (auto begun = output_.begin(); !begun) {
      fail(begun.error().message);
    } else if (tellName_) {
      print("recording to " + options_.output + '\n');  // not before the worker takes the options
    }
    for (const FallbackAcceptance& each : options_.accepted) session_.acceptFallback(each);
  }

  void onReceived() {
    if (session_.state() == Session::State::kEnded) return;
    if (!deviceSaid_ && store_.hello()) {
      deviceSaid_ = true;
      print("device " + report::deviceSentence(store_.hello()->device) + '\n');
    }
    if (const std::string error = output_.errorText(); !error.empty()) fail(error);
    tellRecoveries();
    if (store_.steps().records.empty()) return;
    progress_.show(
        progressOf(store_, options_.launch.steps, std::chrono::milliseconds(elapsed_.elapsed())));
  }

  void tellRecoveries() {
    const auto& markers = store_.markers();
    for (; seenMarkers_ < markers.size(); ++seenMarkers_) {
      const events::Marker& marker = markers[seenMarkers_];
      if (marker.kind() != events::MarkerKind::Recovered) continue;
      progress_.finish();
      printError("step " + std::to_string(marker.step()) + " ran out of memory; " +
                 store_.markerText(marker));
    }
  }

  /// Ends a run that cannot be recorded.
  void fail(const std::string& message) {
    if (!failure_.empty()) return;
    failure_ = message;
    QMetaObject::invokeMethod(&session_, &Session::abort, Qt::QueuedConnection);
  }

  void onStopRequested(int count) {
    stopRequested_ = true;
    if (session_.state() == Session::State::kEnded) return;
    progress_.finish();
    if (count == 1 && session_.state() != Session::State::kStopping) {
      printError(session_.state() == Session::State::kStarting
                     ? "stopping; once more ends the run at once"
                     : "stopping after this step; once more ends the run at once");
      session_.stop();
    } else {
      session_.abort();
    }
  }

  void onStalled(const QString& message) {
    progress_.finish();
    if (!options_.endStalled) {
      printError(message.toStdString() + "; Ctrl+C ends the run" +
                 (output_.begun() ? ", and keeps its recording" : ""));
      return;
    }
    printError(message.toStdString() + "; " + endOfStall());
    QMetaObject::invokeMethod(&session_, &Session::abort, Qt::QueuedConnection);
  }

  [[nodiscard]] std::string endOfStall() const {
    const auto limits = session::readSupervisionLimits();
    const std::string limit = limits ? std::to_string(limits->silence.count()) : "?";
    const std::string kept =
        ", and keeps its recording: 'highwater report " + options_.output + "' says what was open";
    return "--end-stalled ends the run there, after " + limit + " ms without progress" +
           (output_.begun() ? kept : "") +
           "; if an op may take longer, raise HIGHWATER_HANG_TIMEOUT_MS";
  }

  void findNext(run::AbortRecovery& recovery) {
    if (options_.launch.afterAbort != session::AfterAbort::kRestart || !failure_.empty() ||
        stopRequested_) {
      return;
    }
    const std::string name = std::filesystem::path(options_.output).filename().string();
    auto next = recovery.after(run::AbortRecovery::Ended::of(*session_.end(), options_.launch,
                                                             store_, QString::fromStdString(name)));
    if (!next) {
      whyNotContinued_ = next.error().message;
    } else {
      next_ = std::move(*next);
    }
  }

  void onEnded() { QMetaObject::invokeMethod(qApp, &QCoreApplication::quit, Qt::QueuedConnection); }

  int conclude() {
    progress_.finish();
    const RunEnd& end = *session_.end();
    if (next_ && next_->startsAgain) output_.discard();
    const auto closed = output_.close();
    // Said again at the end: only then is it known how much was lost and where the rest is.
    if (!closed) failure_ = output_.errorText();
    const bool gone = !closed && closed.error().code == ErrorCode::kNotFound;
    const bool trained = output_.begun() && !store_.steps().records.empty();
    if (trained) {
      print('\n' + report::shortSummary(store_, analysis::summarize(store_), textWidth(stdout)));
    }
    if (output_.begun() && !gone) print("Recording  " + recordingLine() + '\n');
    if (!failure_.empty()) {
      printError(failure_);
      return kExitFailed;
    }
    if (end.reason != RunEnd::Reason::kFinished) printEnd(end);
    forgiveClosedOutput();
    return session::exitCodeFor(end);
  }

  [[nodiscard]] std::string recordingLine() const {
    const std::uint64_t bytes = output_.fileBytes();
    return options_.output + (bytes == 0 ? "" : " (" + formatBytes(bytes) + ")");
  }

  void printEnd(const RunEnd& end) const {
    const QStringList lines = session_.lastLines();
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
  const bool tellName_;
  analysis::LiveStore store_;
  run::RecordingOutput output_;
  ProgressPrinter progress_;
  StopSignals signals_;
  QElapsedTimer elapsed_;
  std::size_t seenMarkers_ = 0;
  bool deviceSaid_ = false, stopRequested_ = false;
  std::string failure_, whyNotContinued_;
  std::optional<run::AbortRecovery::Next> next_;
  Session session_;  // last: on destruction it still uses the sinks above
};

}  // namespace

int runRecord(const RecordOptions& asked) {
  RecordOptions options = asked;
  const session::LaunchOptions& launch = options.launch;
  const bool named = !options.output.empty();
  if (!named) options.output = run::newOutputName(launch.trained());
  warnOfLiftedLimit(launch.device, launch.environment);
  // The run and its recording go on without a reader of the progress ("| head -1").
  std::signal(SIGPIPE, SIG_IGN);
  if (auto usable = run::checkOutput(options.output, options.force); !usable) {
    printError(usable.error().message);
    return usable.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
  }
  if (launch.afterAbort == session::AfterAbort::kRestart) {
    auto files = session::CheckpointFiles::create();
    if (!files) {
      printError(files.error().message);
      return kExitFailed;
    }
    options.launch.checkpoint = *files;
  }
  run::AbortRecovery recovery;
  const std::string firstOutput = options.output;
  bool tellName = !named;
  while (true) {
    RecordRun run(options, tellName);
    const int code = run.run(recovery);
    auto next = run.next(firstOutput);
    if (!next) return code;
    options = std::move(*next);
    tellName = false;
  }
}

}  // namespace highwater::cli
