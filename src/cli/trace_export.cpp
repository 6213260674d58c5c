#include "cli/trace_export.h"

#include <QFile>
#include <optional>
#include <utility>

#include "cli/export_range.h"
#include "cli/output_draft.h"
#include "cli/output_file.h"
#include "core/units.h"
#include "report/gzip.h"

namespace highwater::cli {
namespace {

/// What Perfetto can load in a browser, whose memory for WebAssembly is at most 4 GiB:
/// perfetto.dev/docs/visualization/large-traces.
constexpr std::uint64_t kMostInBrowser = std::uint64_t{2} << 30;

}  // namespace

Result<ExportOutcome> writeTrace(const DataExportOptions& options, MakeTrace make,
                                 bool isCompressed) {
  auto draft = OutputDraft::ofFile(options.file);
  if (!draft) return draft.error();
  const auto file = (*draft)->open(0);
  if (!file) return file.error();
  run::LoadControl control;
  control.mostBytes = UINT64_MAX;  // nothing of it stays in memory
  // What cannot be written any more need not be read.
  control.cancelled = [&draft] { return (*draft)->failed(); };
  const auto range = rangeOf(options, control);
  if (!range) return range.error();
  report::Write write = writeTo(**file);
  std::optional<report::Gzip> gzip;
  if (isCompressed) {
    gzip.emplace(std::move(write));
    write = [&gzip](std::string_view piece) { gzip->write(piece); };
  }
  const auto format = make(std::move(write));
  report::TraceEvents trace(*format, *range);
  const auto condition = run::loadReadablePart(options.recording, trace, control);
  if (auto done = (*draft)->flush(); !done) return done.error();
  if (!condition) return condition.error();
  trace.finish();
  if (gzip) {
    if (auto done = gzip->finish(); !done) return done.error();
  }
  if (auto done = (*draft)->flush(); !done) return done.error();
  const std::uint64_t size = (*draft)->bytes();
  if (auto done = (*draft)->commit(); !done) return done.error();
  ExportOutcome outcome{*condition,
                        std::to_string(trace.written()) + " events, " + formatBytes(size),
                        trace.dropped(),
                        {}};
  if (size > kMostInBrowser) {
    outcome.remark = "browsers open traces up to some " + formatBytes(kMostInBrowser) +
                     "; --steps or --from and --until write a part";
  }
  return outcome;
}

}  // namespace highwater::cli
