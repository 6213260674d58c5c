#include "cli/data_export.h"

#include <QFile>
#include <QSaveFile>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "cli/output_file.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "report/chrome_trace.h"
#include "report/gzip.h"
#include "report/perfetto_trace.h"
#include "run/recording_loader.h"
#include "run/recording_output.h"

namespace highwater::cli {
namespace {

/// What Perfetto can load in a browser, whose memory for WebAssembly is at most 4 GiB:
/// perfetto.dev/docs/visualization/large-traces.
constexpr std::uint64_t kMostInBrowser = std::uint64_t{2} << 30;

/// The first bytes of a file.
QByteArray headOf(const std::filesystem::path& path) {
  constexpr qint64 kHead = 512;
  QFile file(QString::fromStdString(path.string()));
  return file.open(QFile::ReadOnly) ? file.read(kHead) : QByteArray();
}

bool isChromeTrace(const std::filesystem::path& file) {
  return headOf(file).contains("\"traceEvents\"");
}

bool isGzip(const std::filesystem::path& file) {
  return headOf(file).startsWith("\x1f\x8b\x08");
}

bool isPerfettoTrace(const std::filesystem::path& file) {
  const QByteArray head = headOf(file);
  return report::PerfettoTrace::isHead({head.data(), static_cast<std::size_t>(head.size())});
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
Result<std::optional<analysis::TimeRange>> rangeOf(const DataExportOptions& options,
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

using MakeFormat = std::unique_ptr<report::TraceFormat> (*)(report::Write);

template <typename Format>
std::unique_ptr<report::TraceFormat> make(report::Write write) {
  return std::make_unique<Format>(std::move(write));
}

/// A kind of data file.
struct Kind {
  std::string_view ending;
  const char* noun;  ///< of the file
  const char* text;  ///< for help
  bool (*isOfKind)(const std::filesystem::path&);
  MakeFormat make;
  bool isCompressed = false;
};

constexpr Kind kKinds[] = {
    {".pftrace", "trace of Highwater", "Perfetto's own format", &isPerfettoTrace,
     &make<report::PerfettoTrace>},
    {".json", "trace", "Chrome's, as torch.profiler writes", &isChromeTrace,
     &make<report::ChromeTrace>},
    {".json.gz", "compressed trace", "the same, compressed", &isGzip, &make<report::ChromeTrace>,
     true},
};

const Kind* kindOf(const std::string& name) {
  const std::string lower = QString::fromStdString(name).toLower().toStdString();
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const Kind& each) { return lower.ends_with(each.ending); });
  return found == std::end(kKinds) ? nullptr : found;
}

/// Writes a recording's events to an open file. Returns the recording's state. What cannot be
/// written any more is not read.
Result<RecordingCondition> writeTrace(const DataExportOptions& options, const Kind& kind,
                                      QSaveFile& file, std::string& result) {
  run::LoadControl control;
  control.mostBytes = UINT64_MAX;  // nothing of it stays in memory
  control.cancelled = [&file] { return file.error() != QFileDevice::NoError; };
  const auto range = rangeOf(options, control);
  if (!range) return range.error();
  report::Write write = [&file](std::string_view piece) {
    file.write(piece.data(), static_cast<qint64>(piece.size()));
  };
  std::optional<report::Gzip> gzip;
  if (kind.isCompressed) {
    gzip.emplace(std::move(write));
    write = [&gzip](std::string_view piece) { gzip->write(piece); };
  }
  const auto format = kind.make(std::move(write));
  report::TraceEvents trace(*format, *range);
  auto condition = run::loadReadablePart(options.recording, trace, control);
  if (control.cancelled()) return notWritten(file, "--to");
  if (!condition) return condition.error();
  trace.finish();
  if (gzip) {
    if (auto done = gzip->finish(); !done) return done.error();
  }
  result = std::to_string(trace.written()) + " events, " +
           formatBytes(static_cast<std::uint64_t>(file.size()));
  if (trace.dropped() > 0) {
    result += "; the recording lacks " + std::to_string(trace.dropped()) +
              " events that were lost under load";
  }
  return condition;
}

}  // namespace

bool isDataFile(const std::string& name) {
  return kindOf(name) != nullptr;
}

std::string dataFileKinds() {
  std::string kinds;
  for (const Kind& each : kKinds) {
    kinds += (kinds.empty() ? "" : ", ") + std::string(each.ending) + " (" + each.text + ')';
  }
  return kinds;
}

int runDataExport(const DataExportOptions& options) {
  const Kind& kind = *kindOf(options.file);
  if (auto replaced = run::checkReplaced(options.file, options.force, kind.noun, kind.isOfKind);
      !replaced) {
    return failWith(replaced.error());
  }
  QSaveFile file(QString::fromStdString(options.file));
  if (!file.open(QIODevice::WriteOnly)) return failWith(notWritten(file, "--to"));
  std::string result;
  const auto condition = writeTrace(options, kind, file, result);
  if (!condition) return failWith(condition.error());
  const auto size = static_cast<std::uint64_t>(file.size());
  if (!file.commit()) return failWith(notWritten(file, "--to"));
  print(options.file + ": " + result + '\n');
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
