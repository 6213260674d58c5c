#include "report/report_text.h"

#include <algorithm>
#include <map>

#include "analysis/device/step_queue.h"
#include "analysis/findings/findings.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/findings_report.h"
#include "report/report_device.h"
#include "report/report_ops.h"
#include "report/report_values.h"
#include "report/text_table.h"

namespace highwater::report {
namespace {

using analysis::LiveStore;
using analysis::OpTotal;
using analysis::RunSummary;
using Align = TextTable::Align;

std::string stepsLine(const RunSummary& s) {
  if (s.steps == 0) return "none";
  return std::to_string(s.steps) + ", p50 " + formatMs(s.stepMsP50) + ", p95 " +
         formatMs(s.stepMsP95) + ", " + formatRate(s.tokensPerS) + " tokens/s";
}

std::string lossLine(const RunSummary& s) {
  std::string line = "never read";
  if (s.lossFirst && s.lossLast) {
    line = formatDecimals(*s.lossFirst, 3) + " \u2192 " + formatDecimals(*s.lossLast, 3);
  }
  if (s.heldOutAccuracy) {
    line += ", held-out accuracy " + formatDecimals(*s.heldOutAccuracy * 100, 1) + " %";
  }
  return line;
}

std::string memoryLine(const LiveStore& store, const RunSummary& s) {
  if (!s.memoryCounted)
    return store.hasMemoryCounters() ? "not measured" : "not measured, the CPU has no counters";
  std::string line = "current peak " + formatBytes(s.currentPeakBytes) +
                     (s.currentPeakExact ? " (exact)" : " (sampled)") + ", driver peak " +
                     formatBytes(s.driverPeakBytes) + " (sampled)";
  if (s.recommendedBytes > 0) {
    const double share =
        100.0 * static_cast<double>(s.driverPeakBytes) / static_cast<double>(s.recommendedBytes);
    line += ", " + formatDecimals(share, 0) + " %" + " of recommended " +
            formatBytes(s.recommendedBytes);
  }
  return store.simulated() ? line + ", simulated" : line;
}

/// The unplanned events: " (12×, most in aten::gelu)", or " (12× aten::gelu)" if all are of one op;
/// empty if there are none.
std::string mostly(const std::vector<OpTotal>& totals) {
  std::map<std::string, std::int64_t> nsByOp;
  std::uint64_t count = 0;
  for (const OpTotal& each : totals) {
    if (each.unplannedCount == 0) continue;
    count += each.unplannedCount;
    nsByOp[each.op] += each.unplannedNs;
  }
  if (nsByOp.empty()) return {};
  const auto worst = std::max_element(nsByOp.begin(), nsByOp.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
  return " (" + std::to_string(count) + (nsByOp.size() > 1 ? "\u00d7, most in " : "\u00d7 ") +
         plainText(worst->first) + ')';
}

std::string lostTimeLine(const RunSummary& s) {
  return "fallbacks " + formatMs(s.fallbackMs) + mostly(s.fallbacks) + ", unplanned sync points " +
         formatMs(s.unplannedSyncMs) + mostly(s.syncPoints);
}

/// Empty for a device without a queue.
std::string queueLine(const LiveStore& store) {
  const analysis::QueueSummary queue = analysis::summarizeQueue(store);
  if (!queue.enqueueMs || !queue.waitMs) return {};
  const auto both = [](const std::optional<analysis::Percentiles>& values) {
    if (!values) return std::string("unknown");
    return formatMs(values->p50) + " (p95 " + formatMs(values->p95) + ')';
  };
  return "a step: host enqueues " + both(queue.enqueueMs) + ", waits " + both(queue.waitMs) +
         ", device span " + both(queue.deviceSpanMs);
}

/// Empty without readings.
std::string systemLine(const LiveStore& store, const analysis::SystemSummary& s) {
  std::string line;
  const auto add = [&line](const std::string& part) { line += (line.empty() ? "" : ", ") + part; };
  if (s.footprintPeakBytes)
    add("footprint peak " + formatBytes(*s.footprintPeakBytes) + " (sampled)");
  if (s.swapUsedPeakBytes.value_or(0) > 0) add("swap up to " + formatBytes(*s.swapUsedPeakBytes));
  const events::Pressure highest = s.highestPressure();
  if (highest != events::Pressure::Unknown) {
    add("pressure " + std::string(pressureName(highest)));
    if (highest != events::Pressure::Normal) {
      line += " (" + formatDecimals(100 * s.shareFrom(highest), 0) + " % of the time)";
    }
  }
  return line.empty() || !store.simulated() ? line : line + ", simulated";
}

std::string runLine(const RunDescription& run) {
  const std::string scenario = run.scenario.empty() ? "" : ", scenario " + run.scenario;
  return plainText(run.workload + scenario + ", preset " + run.preset + ", " + run.dtype + ", " +
                   std::to_string(run.parameters) + " parameters");
}

std::string dataLine(const RunDescription& run) {
  if (run.dataset.empty() && run.trainRows == 0) return "not known: the script's own";
  return plainText(run.dataset + ", " + std::to_string(run.trainRows) + " rows to train, " +
                   std::to_string(run.heldOutRows) + " held out, batch size " +
                   std::to_string(run.knobs.batchSize) + ", sequence length " +
                   std::to_string(run.knobs.sequenceLength) + " at step 1");
}

std::string endLine(const LiveStore& store, const RecordingCondition& condition) {
  if (!store.end() && condition.beingWritten) return "not yet: the recording is being written";
  if (!store.end() && !condition.damage.empty()) return "unknown: the recording is damaged";
  if (!store.end()) return "unknown: the recording ends without saying so";
  return std::string(runEndKey(store.end()->reason)) + ": " + plainText(store.end()->message);
}

std::string section(const std::string& title, const TextTable& table) {
  if (table.empty()) return {};
  return '\n' + title + '\n' + table.text(2);
}

TextTable phaseTable(const RunSummary& s) {
  double total = 0;
  for (const double ms : s.phaseMs) total += ms;
  TextTable table({Align::kLeft, Align::kRight, Align::kRight});
  if (total <= 0) return table;
  for (const events::Phase phase : kPhases) {
    const double ms = s.phaseMs[static_cast<std::size_t>(phase)];
    table.add(
        {std::string(phaseName(phase)), formatMs(ms), formatDecimals(100 * ms / total, 1) + " %"});
  }
  return table;
}

TextTable opTable(const std::vector<OpTotal>& totals, bool isSync) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const OpTotal& op : totals) {
    std::string what = op.where;
    if (isSync) what += ", " + std::string(syncKindName(op.kind));
    if (isSync && op.deliberate) what += ", planned";
    table.add({plainText(op.op), std::to_string(op.count) + "\u00d7", formatDuration(op.totalNs),
               formatBytes(op.bytes), plainText(what)});
  }
  return table;
}

TextTable markerTable(const LiveStore& store) {
  TextTable table({Align::kRight, Align::kRight, Align::kLeft});
  for (const events::Marker& marker : store.markers()) {
    table.add({"step " + std::to_string(marker.step()), formatRunTime(marker.time_ns()),
               plainText(store.markerText(marker))});
  }
  return table;
}

std::string droppedLine(const LiveStore& store) {
  if (store.dropped() == 0) return "no events";
  std::string line;
  for (const auto& [kind, count] : store.droppedByKind()) {
    line +=
        (line.empty() ? "" : ", ") + std::to_string(count) + ' ' + std::string(eventKindName(kind));
  }
  return line;
}

void addNumbers(TextTable& table, const LiveStore& store, const RunSummary& summary) {
  table.add({"Steps", stepsLine(summary)});
  table.add({"Loss", lossLine(summary)});
  table.add({"Memory", memoryLine(store, summary)});
  if (analysis::isUnobserved(store)) {
    table.add({"Lost time", "not recorded: the level was off"});
  } else {
    table.add({"Lost time", lostTimeLine(summary)});
    if (const std::string queue = queueLine(store); !queue.empty()) table.add({"Queue", queue});
  }
  const std::string system = systemLine(store, summary.system);
  if (!system.empty()) table.add({"System", system});
}

}  // namespace

std::string deviceSentence(const DeviceReport& device) {
  const std::string label(deviceLabel(device));
  return device.reason.empty() ? label : label + ": " + plainText(device.reason);
}

std::string shortSummary(const LiveStore& store, const RunSummary& summary) {
  TextTable table({Align::kLeft, Align::kLeft});
  addNumbers(table, store, summary);
  if (store.dropped() > 0) table.add({"Dropped", droppedLine(store)});
  return table.text();
}

std::string reportText(const std::string& title, const LiveStore& store, const RunSummary& summary,
                       const RecordingCondition& condition) {
  TextTable head({Align::kLeft, Align::kLeft});
  for (const std::string& each : condition.damage) head.add({"Damaged", plainText(each)});
  if (store.hello()) {
    const Hello& hello = *store.hello();
    head.add({"Device", deviceSentence(hello.device)});
    head.add({"Versions", plainText("highwater-worker " + hello.workerVersion + ", PyTorch " +
                                    hello.torchVersion + ", " + hello.platform)});
  }
  if (store.run()) {
    head.add({"Run", runLine(*store.run())});
    head.add({"Data", dataLine(*store.run())});
  }
  head.add({"Ended", endLine(store, condition)});
  addNumbers(head, store, summary);
  addGrowthLine(store, head);
  addDeviceLines(store, head);
  head.add({"Events", std::to_string(store.eventCount()) + ", dropped: " + droppedLine(store)});
  return plainText(title) + "\n\n" + findingsText(analysis::findProblems(store)) + '\n' +
         head.text(2) + section("Phases", phaseTable(summary)) +
         section("Host and device, a step", executionTable(store)) +
         section("Sync points", opTable(summary.syncPoints, true)) +
         section("Fallbacks", opTable(summary.fallbacks, false)) + opSections(store) +
         section("Markers", markerTable(store));
}

}  // namespace highwater::report
