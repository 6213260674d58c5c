#include "report/report_text.h"

#include <algorithm>
#include <vector>

#include "analysis/findings/findings.h"
#include "analysis/lost_time_lines.h"
#include "analysis/op_label.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/findings_report.h"
#include "report/report_account.h"
#include "report/report_device.h"
#include "report/report_memory.h"
#include "report/report_numbers.h"
#include "report/report_ops.h"
#include "report/report_sweep.h"
#include "report/report_tuning.h"
#include "report/report_values.h"
#include "report/text_table.h"

namespace highwater::report {
namespace {

using analysis::LineTotal;
using analysis::LiveStore;
using analysis::RunSummary;
using Align = TextTable::Align;

/// The lines of code that each table shows.
constexpr std::ptrdiff_t kMostLines = 20;
// Widths of columns, in code points.
constexpr std::size_t kWidestPlace = 60, kWidestSite = 140;

/// Waits, or fallbacks, by line: the longest kMostLines, then how many more there are.
std::string lineSection(const std::string& title, const std::vector<LineTotal>& totals,
                        std::size_t width) {
  // Most waits read a single number.
  const bool hasBytes = !totals.empty() && totals.front().kind == events::SyncKind::None;
  std::vector<Align> columns{Align::kLeft, Align::kRight, Align::kRight, Align::kLeft,
                             Align::kLeft};
  if (hasBytes) columns.insert(columns.begin() + 3, Align::kRight);
  const std::size_t place = columns.size() - 2;
  TextTable table(columns);
  table.limit(0, opColumn(width));
  table.foldFrom(place);
  table.limit(place, kWidestPlace);
  table.limit(place + 1, kWidestSite);
  std::size_t more = 0;
  std::int64_t moreNs = 0;
  for (const LineTotal& each : totals) {
    if (&each - totals.data() >= kMostLines) {
      ++more;
      moreNs += each.totalNs;
      continue;
    }
    std::string what = each.where;
    // "copy_ to host" says already what made it wait.
    const bool told = analysis::opLabel(each.op, each.kind) != each.op;
    if (each.kind != events::SyncKind::None && !told)
      what += ", " + std::string(syncKindName(each.kind));
    if (each.deliberate) what += ", planned";
    std::vector<std::string> cells{plainText(analysis::opLabel(each.op, each.kind)),
                                   std::to_string(each.count) + "\u00d7",
                                   formatDuration(each.totalNs)};
    if (hasBytes) cells.push_back(formatBytes(each.bytes));
    cells.push_back(plainText(what));
    cells.push_back(plainText(siteText(each.site)));
    table.add(std::move(cells));
  }
  std::string all = section(title, table, width);
  if (more > 0) {
    all += "  and " + std::to_string(more) + (more == 1 ? " line more, " : " lines more, ") +
           formatDuration(moreNs) + " (--json lists them)\n";
  }
  return all;
}

TextTable markerTable(const LiveStore& store) {
  TextTable table({Align::kRight, Align::kRight, Align::kLeft});
  std::vector<events::Marker> markers = store.markers();
  // A note may have been added long after its time.
  std::stable_sort(markers.begin(), markers.end(),
                   [](const auto& a, const auto& b) { return a.time_ns() < b.time_ns(); });
  for (const events::Marker& marker : markers) {
    // They are the rows of the table of the sweep.
    const bool isNote = marker.kind() == events::MarkerKind::Note;
    if (isNote && tuning::isSweepNote(store.name(marker.text()))) continue;
    table.add({"step " + std::to_string(marker.step()), formatRunTime(marker.time_ns()),
               plainText(store.markerText(marker))});
  }
  return table;
}

}  // namespace

std::string runResult(const LiveStore& store, std::size_t width) {
  const analysis::Findings findings = analysis::findProblems(store);
  if (store.steps().records.empty()) {
    std::string lines;
    for (const analysis::Finding& each : findings.found) {
      lines += hangingText("", plainText(each.title + ": " + each.advice), 2, width);
    }
    return lines;
  }
  TextTable table({Align::kLeft, Align::kLeft});
  if (store.run()) table.add({"Run", runLine(*store.run())});
  if (const std::string time = accountLine(analysis::accountTime(store)); !time.empty()) {
    table.add({"Time", time});
  }
  addNumbers(table, store, analysis::summarize(store), false);
  if (const std::string batch = safeBatchLine(store, findings); !batch.empty()) {
    table.add({"Safe batch", batch});
  }
  if (store.dropped() > 0) table.add({"Dropped", droppedLine(store)});
  return briefFindings(findings, width) + table.text(0, width);
}

std::string titleWithDevice(const std::string& title, const LiveStore& store) {
  if (!store.hello()) return title;
  return title + " (" + std::string(deviceLabel(store.hello()->device)) + ')';
}

std::string reportText(const std::string& title, const LiveStore& store, const RunSummary& summary,
                       const analysis::Findings& findings, const RecordingCondition& condition,
                       const TextOptions& options) {
  const std::size_t width = options.width;
  const analysis::LostTimeLines lines = analysis::summarizeLines(store);
  const analysis::TimeAccount account = analysis::accountTime(store);
  const bool unused = analysis::leftDeviceUnused(store);
  const TextTable head = headTable(store, summary, findings, condition, account, options.full);
  std::string all = hangingText("", plainText(title), 2, width) + '\n' +
                    findingsText(findings, width) + '\n' + head.text(2, width) +
                    section("Memory by region", memoryRegionsTable(store, options.full), width) +
                    sweepSection(store, width) + lineSection("Sync points", lines.waits, width) +
                    lineSection("Fallbacks", lines.fallbacks, width) + opSections(store, width) +
                    section("Markers", markerTable(store), width);
  if (options.full) {
    all += section("Where the time went", accountTable(store, account), width);
    if (unused) return all;
    const analysis::DeviceWork work = analysis::estimateDeviceWork(store);
    all += section("Host and device, a step", executionTable(store), width) +
           section("What the device does in step " + std::to_string(work.step) +
                       ", by the sizes of its ops",
                   deviceWorkTable(work), width) +
           section("What the device does in an evaluation, by the sizes of its ops",
                   deviceWorkTable(analysis::estimateEvaluationWork(store)), width);
    return all;
  }
  return all + '\n' +
         hangingText(
             "",
             "--full adds where the time went, queue, system, idle time, device switches, memory "
             "growth and how sure the predictions are.",
             0, width);
}

std::string reportText(const std::string& title, const LiveStore& store, const RunSummary& summary,
                       const RecordingCondition& condition, const TextOptions& options) {
  return reportText(title, store, summary, analysis::findProblems(store), condition, options);
}

std::string reportMarkdown(const std::string& title, const LiveStore& store,
                           const RunSummary& summary, const RecordingCondition& condition,
                           const TextOptions& options) {
  const analysis::Findings findings = analysis::findProblems(store);
  const std::string text = reportText(title, store, summary, findings, condition, options);
  // Longer than any fence in the names of a run.
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return "### " + markdownText(titleWithDevice(title, store)) + "\n\n" +
         findingsMarkdown(findings) + '\n' +
         factTable(store, summary).markdown({"Number", "Value"}) +
         "\n<details><summary>highwater report</summary>\n\n" + fence + "text\n" + text + fence +
         "\n\n</details>\n";
}

}  // namespace highwater::report
