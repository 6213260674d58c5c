#include "cli/trace_export.h"

#include <QFile>
#include <QSaveFile>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/output_file.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "report/chrome_trace.h"
#include "run/recording_loader.h"
#include "run/recording_output.h"

namespace highwater::cli {
namespace {

/// What Perfetto can load in a browser, whose memory for WebAssembly is at most 4 GiB:
/// perfetto.dev/docs/visualization/large-traces.
constexpr std::uint64_t kMostInBrowser = std::uint64_t{2} << 30;

bool isTrace(const std::filesystem::path& file) {
  constexpr qint64 kHead = 512;
  QFile old(QString::fromStdString(file.string()));
  return old.open(QFile::ReadOnly) && old.read(kHead).contains("\"traceEvents\"");
}

/// Finds when some steps begin and end.
class StepTimes final : public MessageSink {
 public:
  explicit StepTimes(std::pair<std::uint32_t, std::uint32_t> steps) : steps_(steps) {}

  void take(std::span<const std::uint8_t>, const Message& message) override {
    const auto* batch = std::get_if<EventBatch>(&message);
    if (!batch) return;
    for (const events::StepRecord& step : batch->steps) {
      last_ = std::max(last_, step.step());
      if (step.step() < steps_.first || step.step() > steps_.second) continue;
      if (!range_) range_ = analysis::TimeRange{step.begin_ns(), 0};
      range_->endNs = std::max(range_->endNs, endNsOf(step));
    }
  }

  [[nodiscard]] Result<analysis::TimeRange> range() const {
    if (range_) return *range_;
    return usageError(last_ == 0 ? "the recording has no step"
                                 : "--steps: the recording has only the steps up to " +
                                       std::to_string(last_));
  }

 private:
  std::pair<std::uint32_t, std::uint32_t> steps_;
  std::optional<analysis::TimeRange> range_;
  std::uint32_t last_ = 0;
};

/// The part of the run that is asked for; std::nullopt: all of it.
Result<std::optional<analysis::TimeRange>> rangeOf(const TraceOptions& options,
                                                   const run::LoadControl& control) {
  if (options.steps) {
    StepTimes times(*options.steps);
    if (auto read = run::loadReadablePart(options.recording, times, control); !read) {
      return read.error();
    }
    auto range = times.range();
    if (!range) return range.error();
    return std::optional(*range);
  }
  if (!options.fromNs && !options.untilNs) return std::optional<analysis::TimeRange>();
  return std::optional(
      analysis::TimeRange{options.fromNs.value_or(INT64_MIN), options.untilNs.value_or(INT64_MAX)});
}

}  // namespace

int runTraceExport(const TraceOptions& options) {
  if (auto replaced = run::checkReplaced(options.trace, options.force, "trace", &isTrace);
      !replaced) {
    return failWith(replaced.error());
  }
  run::LoadControl control;
  control.mostBytes = UINT64_MAX;  // nothing of it stays in memory
  const auto range = rangeOf(options, control);
  if (!range) return failWith(range.error());
  QSaveFile file(QString::fromStdString(options.trace));
  if (!file.open(QIODevice::WriteOnly)) return failWith(notWritten(file, "--to"));
  report::ChromeTrace trace(
      [&file](std::string_view piece) {
        file.write(piece.data(), static_cast<qint64>(piece.size()));
      },
      *range);
  // What cannot be written any more need not be read.
  control.cancelled = [&file] { return file.error() != QFileDevice::NoError; };
  const auto condition = run::loadReadablePart(options.recording, trace, control);
  if (!condition && !control.cancelled()) return failWith(condition.error());
  trace.finish();
  const auto size = static_cast<std::uint64_t>(file.size());
  if (control.cancelled() || !file.commit()) return failWith(notWritten(file, "--to"));
  print(options.trace + ": " + std::to_string(trace.written()) + " events, " + formatBytes(size) +
        (trace.dropped() > 0 ? "; the recording lacks " + std::to_string(trace.dropped()) +
                                   " events that were lost under load"
                             : "") +
        '\n');
  if (size > kMostInBrowser) {
    printError("browsers open traces up to some " + formatBytes(kMostInBrowser) +
               "; --steps or --from and --until write a part");
  }
  if (condition->beingWritten) printError("the recording is still being written: the end is open");
  if (condition->damage.empty()) return kExitDone;
  printError(run::damageText(options.recording, *condition));
  return kExitFailed;
}

}  // namespace highwater::cli
