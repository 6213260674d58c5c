#include "cli/sweep_command.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTimer>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>

#include "analysis/live_store.h"
#include "cli/sim_options.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "report/report_sweep.h"
#include "report/report_text.h"
#include "report/text_wrap.h"
#include "run/note.h"
#include "run/recording_output.h"
#include "run/sweep_run.h"
#include "session/option_names.h"
#include "session/session.h"

namespace highwater::cli {
namespace {

using run::SweepRun;
using session::Session;
using tuning::SweptSetting;

std::string padded(const std::string& text, std::size_t width, bool isLeft = false) {
  const std::size_t has = report::widthOf(text);
  const std::string space(width > has ? width - has : 0, ' ');
  return isLeft ? text + space : space + text;
}

/// A line of the table up to the reason. The widths are fixed, because rows are printed as they
/// come.
std::string lineOf(const std::vector<std::string>& cells) {
  constexpr std::size_t kWidths[] = {2, 10, 10, 10, 10, 7, 8, 8, 6};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += (i == 0 ? "" : " ") + padded(cells[i], kWidths[i], i == 1);
  }
  return line;
}

/// One sweep: a session, its recording, and what is printed about it.
class SweepCommand final : public QObject {
 public:
  SweepCommand(const SweepCommandOptions& options, bool tellName)
      : options_(options),
        tellName_(tellName),
        output_(options.output, options.force),
        session_(options.launch) {
    session_.addSink(&store_);
    session_.addSink(&output_);
    connect(&session_, &Session::stateChanged, this, &SweepCommand::onState);
    connect(&session_, &Session::received, this, &SweepCommand::onReceived);
    connect(&session_, &Session::stalled, this, [this](const QString& message) {
      if (failure_.empty()) printError(message.toStdString() + "; Ctrl+C ends the sweep");
    });
    connect(&session_, &Session::ended, this, [this] { quitIfOver(); });
    connect(&signals_, &StopSignals::stopRequested, this, &SweepCommand::onStopRequested);
  }

  int run() {
    session_.start();
    QCoreApplication::exec();
    return conclude();
  }

 private:
  void say(const std::string& text) const {
    if (!options_.json) print(text);
  }

  void onState(Session::State state) {
    if (state != Session::State::kRunning || output_.begun()) return;
    if (auto begun = output_.begin(); !begun) return fail(begun.error());
    if (tellName_) say("recording to " + options_.output + '\n');
    sweep_ = std::make_unique<SweepRun>(&session_, &store_, options_.sweep);
    connect(sweep_.get(), &SweepRun::changed, this, &SweepCommand::onChanged);
    connect(sweep_.get(), &SweepRun::finished, this, &SweepCommand::onFinished);
    if (auto started = sweep_->start(); !started) {
      sweep_.reset();
      return fail(started.error());
    }
    if (!sweep_->hasMemory()) {
      say("the CPU has no device memory: only throughput is compared\n");
    } else if (sweep_->limitBytes() > 0) {
      say("no setting may exceed " + formatBytes(sweep_->limitBytes()) +
          " of driver memory: the recommended maximum less the reserve\n");
    } else {
      say("the recommended maximum of this device is unknown: no limit is kept\n");
    }
    say('\n' + lineOf(report::sweepHeadings()) + "  why\n");
  }

  void onReceived() {
    if (session_.state() == Session::State::kEnded) return;
    if (!deviceSaid_ && store_.hello()) {
      deviceSaid_ = true;
      say("device " + report::deviceSentence(store_.hello()->device) + '\n');
    }
    if (const std::string error = output_.errorText(); !error.empty()) fail(failure(error));
  }

  /// Prints the settings that are complete: whether one is safe is known with the next plan.
  void onChanged() {
    if (!sweep_) return;
    const std::size_t complete =
        std::min(sweep_->settings().size(), sweep_->result().points.size());
    for (; printed_ < complete; ++printed_) {
      const SweptSetting& each = sweep_->settings()[printed_];
      const std::string line = lineOf(report::sweepCells(printed_ + 1, each)) + "  ";
      say(report::hangingText(line, report::sweepReason(each), kReasonHang, textWidth(stdout)));
    }
  }

  void sayLeftOut() {
    for (const tuning::LeftOutSetting& each : sweep_->result().leftOut) {
      const SweptSetting row = tuning::rowOf(each);
      const std::string line = lineOf(report::sweepCells(0, row)) + "  ";
      say(report::hangingText(line, report::sweepReason(row), kReasonHang, textWidth(stdout)));
    }
  }

  void onFinished() {
    onChanged();
    sayLeftOut();
    if (session_.state() == Session::State::kEnded) return quitIfOver();
    session_.stop();
  }

  void quitIfOver() {
    const bool sweeps = sweep_ && sweep_->isRunning();
    if (session_.state() != Session::State::kEnded || sweeps) return;
    QMetaObject::invokeMethod(qApp, &QCoreApplication::quit, Qt::QueuedConnection);
  }

  void fail(const Error& error) {
    if (!failure_.empty()) return;
    failure_ = error.message;
    failureCode_ = error.code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
    QMetaObject::invokeMethod(&session_, &Session::abort, Qt::QueuedConnection);
  }

  void onStopRequested(int count) {
    interrupted_ = true;
    if (count > 1 || !sweep_ || !sweep_->isRunning()) {
      session_.abort();
      return;
    }
    printError("stopping, and keeping what was measured; once more ends the run at once");
    // A step of a large batch may take long, and nobody needs its end.
    QTimer::singleShot(run::kSweepStopGrace, &session_, [this] { session_.abort(); });
    sweep_->interrupt();
  }

  int conclude() {
    const bool measured = sweep_ && !sweep_->settings().empty();
    if (!measured && !failure_.empty()) output_.discard();
    const auto closed = output_.close();
    if (!closed && failure_.empty()) fail(failure(output_.errorText()));
    if (output_.begun() && sweep_) keepNotes();
    if (sweep_ && options_.json) printJson();
    if (sweep_ && !options_.json) {
      const auto& result = sweep_->result();
      const std::string first =
          result.best
              ? "Recommended  " + tuning::shortSettingText(result.best->memory.setting) + ": "
              : "Recommended  nothing: ";
      print('\n' + report::hangingText(first, result.reason, kSummaryHang, textWidth(stdout)));
      print("Recording    " + options_.output + '\n');
    }
    if (!failure_.empty()) {
      printError(failure_);
      return failureCode_;
    }
    if (!sweep_ && interrupted_) {
      printError("interrupted before the first setting was measured; nothing was recorded");
      return kExitEndedEarly;
    }
    if (!sweep_) {
      printError(session::withOptionNames(session_.end()->message, options_.launch.environment));
      return session::exitCodeFor(*session_.end());
    }
    if (interrupted_) {
      const std::size_t count = sweep_->settings().size();
      printError("interrupted: " +
                 (count == 0   ? std::string("no setting was")
                  : count == 1 ? std::string("1 setting was")
                               : std::to_string(count) + " settings were") +
                 " measured; " + options_.output + " keeps the run" +
                 (count == 0 ? "" : " and what was measured"));
      return kExitEndedEarly;
    }
    if (!sweep_->stopReason().empty()) {
      printError(session::withOptionNames(sweep_->stopReason(), options_.launch.environment));
      return measured ? kExitEndedEarly : kExitFailed;
    }
    if (!sweep_->result().best) {
      printError("no setting is recommended: " + sweep_->result().reason);
      return kExitFailed;
    }
    return kExitDone;
  }

  /// The run may have ended before the sweep could add its notes.
  void keepNotes() const {
    for (const Note& note : sweep_->unsavedNotes()) {
      if (auto kept = run::appendNote(options_.output, note); !kept) {
        printError("the recording does not have the result: " + kept.error().message);
        return;
      }
    }
  }

  void printJson() const {
    QJsonArray settings;
    for (const SweptSetting& each : sweep_->settings()) settings.append(report::sweptJson(each));
    const tuning::SweepResult& result = sweep_->result();
    QJsonArray leftOut;
    for (const tuning::LeftOutSetting& each : result.leftOut) {
      leftOut.append(report::leftOutJson(tuning::rowOf(each)));
    }
    QJsonObject object{
        {"schema", 1},
        {"device_memory", sweep_->hasMemory()},
        {"limit", sweep_->limitBytes() > 0 ? QJsonValue(static_cast<qint64>(sweep_->limitBytes()))
                                           : QJsonValue()},
        {"settings", settings},
        {"left_out", leftOut},
        {"complete", result.complete},
        {"recommended",
         result.best ? report::settingJson(result.best->memory.setting) : QJsonValue()},
        {"reason", QString::fromStdString(result.reason)},
        {"stopped", sweep_->stopReason().empty() ? QJsonValue()
                                                 : QString::fromStdString(sweep_->stopReason())},
        {"recording", QString::fromStdString(options_.output)}};
    print(QJsonDocument(object).toJson().toStdString());
  }

  static constexpr std::size_t kReasonHang = 4, kSummaryHang = 13;

  const SweepCommandOptions& options_;
  const bool tellName_;
  analysis::LiveStore store_;
  run::RecordingOutput output_;
  StopSignals signals_;
  bool deviceSaid_ = false, interrupted_ = false;
  std::size_t printed_ = 0;
  std::string failure_;
  int failureCode_ = kExitFailed;
  Session session_;  // on destruction it still uses the sinks above
  std::unique_ptr<SweepRun> sweep_;
};

}  // namespace

int runSweep(const SweepCommandOptions& asked) {
  SweepCommandOptions options = asked;
  const bool isNamed = !options.output.empty();
  if (!isNamed) options.output = run::newOutputName("sweep");
  std::signal(SIGPIPE, SIG_IGN);
  warnOfLiftedLimit(options.launch.device, options.launch.environment);
  if (auto usable = run::checkOutput(options.output, options.force); !usable) {
    printError(usable.error().message);
    return usable.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
  }
  return SweepCommand(options, !isNamed).run();
}

}  // namespace highwater::cli
