#include "report/report_numbers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/device/step_queue.h"
#include "analysis/facts.h"
#include "analysis/named_phases.h"
#include "core/knobs.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_account.h"
#include "report/report_device.h"
#include "report/report_ops.h"
#include "report/report_tuning.h"

namespace highwater::report {
namespace {

using analysis::LiveStore;
using analysis::OpTotal;
using analysis::RunSummary;
using Align = TextTable::Align;

/// What a process holds beside the driver's memory that a short report tells: more than Python and
/// its libraries take.
constexpr std::uint64_t kMuchHiddenBytes = 256U << 20;

std::string stepsLine(const LiveStore& store, const RunSummary& s) {
  if (s.steps == 0) return "none";
  const bool iterates = store.run() && store.run()->stepsAre == StepsAre::kIterations;
  const std::string p50 = "p50 " + formatMs(s.stepMsP50);
  const std::string line =
      std::to_string(s.steps) +
      (iterates ? " iterations (calls of the model; nothing trained)" : "") + ", " +
      (s.meanTells() ? "mean " + formatMs(s.stepMsMean) + " (" + p50 + ")" : p50) + ", p95 " +
      formatMs(s.stepMsP95) + (store.tried().empty() ? "" : " (steps of tries left out)");
  if (s.tokensPerS <= 0) return line;  // the size of a script's batches is not known
  return line + ", " + formatRate(s.tokensPerS) + ' ' + std::string(store.rateUnit()) +
         (s.rateLeavesOutFirst ? " after the first" : "") +
         (s.rateHasDrain ? ", with the waits after steps for what they queued" : "") +
         (s.rateIsQueued ? ", as the host queues them: the device may be slower" : "");
}

std::string lossLine(const RunSummary& s) {
  std::string line = "never read";
  if (s.lossFirst && s.lossLast) {
    const std::string first = formatDecimals(*s.lossFirst, 3),
                      last = formatDecimals(*s.lossLast, 3);
    line = first == last ? last : first + " \u2192 " + last;
  }
  if (s.heldOutAccuracy) {
    line += ", held-out accuracy " + formatDecimals(*s.heldOutAccuracy * 100, 1) + " %";
  }
  return line;
}

std::string memoryLine(const LiveStore& store, const RunSummary& s) {
  if (!s.memoryCounted)
    return store.hasMemoryCounters() ? "not measured" : "not measured, the CPU has no counters";
  std::string line = "current peak " + formatBytes(s.currentPeakBytes) + ", driver peak " +
                     formatBytes(s.driverPeakBytes);
  if (s.recommendedBytes > 0) {
    const double share =
        100.0 * static_cast<double>(s.driverPeakBytes) / static_cast<double>(s.recommendedBytes);
    line += ", " + formatDecimals(share, share < 10 ? 1 : 0) + " %" + " of recommended " +
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

/// How long the host waited without the training loop's intent. A wait is not what fixing it saves.
std::string unplannedLine(const RunSummary& s) {
  const auto part = [](const std::string& what, double ms, const std::vector<OpTotal>& totals) {
    const std::string most = mostly(totals);
    return most.empty() ? "no " + what : what + ' ' + formatMs(ms) + most;
  };
  return part("fallbacks", s.fallbackMs, s.fallbacks) + ", " +
         part("unplanned sync points", s.unplannedSyncMs, s.syncPoints);
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
         (store.ownScript() && !queue.deviceSpanMs ? ""
                                                   : ", device span " + both(queue.deviceSpanMs));
}

/// Empty if nothing was swapped; without what is unknown.
std::string swapTraffic(const analysis::MachineSummary& machine) {
  const auto& out = machine.swappedOutBytes;
  const auto& in = machine.swappedInBytes;
  if (out.value_or(0) == 0 && in.value_or(0) == 0) return {};
  std::string text = out ? formatBytes(*out) + " swapped out" : "";
  if (in) text += out ? " and " + formatBytes(*in) + " in" : formatBytes(*in) + " swapped in";
  const auto& rate = machine.swapPeakBytesPerS;
  return rate ? text + ", at most " + formatBytes(*rate) + "/s" : text;
}

/// Empty without readings, and, unless `full`, where nothing is out of the ordinary.
std::string systemLine(const LiveStore& store, const RunSummary& run, bool full) {
  const analysis::SystemSummary& s = run.system;
  const analysis::MachineSummary& machine = run.machine;
  std::string line;
  const auto add = [&line](const std::string& part) { line += (line.empty() ? "" : ", ") + part; };
  const bool hides = s.footprintPeakBytes.value_or(0) > run.driverPeakBytes + kMuchHiddenBytes;
  if (s.footprintPeakBytes && (full || hides))
    add("footprint peak " + formatBytes(*s.footprintPeakBytes));
  if (s.swapUsedPeakBytes.value_or(0) > 0) add("swap up to " + formatBytes(*s.swapUsedPeakBytes));
  if (const std::string traffic = swapTraffic(machine); !traffic.empty()) add(traffic);
  const events::Pressure highest = s.highestPressure();
  if (highest != events::Pressure::Unknown && (full || highest != events::Pressure::Normal)) {
    add("pressure " + std::string(pressureName(highest)));
    if (highest != events::Pressure::Normal) {
      line += " (" + formatDecimals(100 * s.shareFrom(highest), 0) + " % of the time)";
    }
  }
  const events::ThermalState hottest = machine.hottest();
  if (hottest > events::ThermalState::Nominal) {
    add("thermal state up to " + std::string(thermalStateName(hottest)) + " (" +
        formatDecimals(100 * machine.shareFrom(hottest), 0) + " % of the time)");
  }
  if (const double low = machine.lowPowerShare().value_or(0); low > 0) {
    add("Low Power Mode" +
        (low < 1 ? " (" + formatDecimals(100 * low, 0) + " % of the time)" : ""));
  }
  return line.empty() || !store.simulated() ? line : line + ", simulated";
}

/// "batch size 16, sequence length 24 (guessed from the inputs of the model)": what a script's
/// steps were at first, and its knobs.
std::string scriptDataLine(const LiveStore& store) {
  const Knobs& knobs = store.run()->knobs;
  std::string guessed, offered;
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  bool offersBatch = false;
  for (const ScriptKnob& knob : store.scriptKnobs()) {
    if (knob.declaredAt.empty()) continue;
    offersBatch = offersBatch || knob.name == "batch_size";
    add(offered,
        knob.name + ' ' + valueText(knob, knob.value) + " (knob, " + knob.declaredAt + ')');
  }
  if (knobs.batchSize > 0 && !offersBatch) {
    add(guessed, "batch size " + std::to_string(knobs.batchSize));
  }
  if (knobs.sequenceLength > 0) {
    add(guessed, "sequence length " + std::to_string(knobs.sequenceLength));
  }
  if (!guessed.empty()) add(offered, guessed + " (guessed from the inputs of the model)");
  return offered.empty() ? "not known: the script's own" : plainText(offered);
}

std::string dataLine(const LiveStore& store) {
  const RunDescription& run = *store.run();
  if (run.ownScript) return scriptDataLine(store);
  const std::string rows = run.trainRows == 0
                               ? ""
                               : ", " + std::to_string(run.trainRows) + " rows to train, " +
                                     std::to_string(run.heldOutRows) + " held out";
  return plainText(run.dataset + rows + ", batch size " + std::to_string(run.knobs.batchSize) +
                   ", sequence length " + std::to_string(run.knobs.sequenceLength) + " at step 1");
}

/// How to name what a script does outside of its phases, where that is most of its steps.
void addOutsideLine(TextTable& head, const LiveStore& store, const RunSummary& s) {
  const std::string_view hint = analysis::phaseNamingHint(store, s);
  if (hint.empty()) return;
  head.add({"Phases", formatDecimals(100 * analysis::shareOutsidePhases(s), 0) +
                          " % of the steps' time lies outside of phases. " + std::string(hint)});
}

std::string endLine(const LiveStore& store, const RecordingCondition& condition) {
  if (!store.end() && condition.beingWritten) return "not yet: the recording is being written";
  if (!store.end() && !condition.damage.empty()) return "unknown: the recording is damaged";
  if (!store.end()) return "killed or crashed: no end was written, and later steps may be missing";
  return std::string(runEndKey(store.end()->reason)) + ": " + plainText(store.end()->message);
}

}  // namespace

std::string runLine(const RunDescription& run) {
  std::string line = run.workload;
  const auto add = [&line](const std::string& what, const std::string& value) {
    if (!value.empty()) line += ", " + what + value;
  };
  add("scenario ", run.scenario);
  add("preset ", run.preset);
  add("model ", run.model);
  add("", run.optimizer);
  add("", run.dtype);
  if (run.parameters > 0) add("", std::to_string(run.parameters) + " parameters");
  return plainText(line);
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

void addNumbers(TextTable& table, const LiveStore& store, const RunSummary& summary, bool full) {
  table.add({"Steps", stepsLine(store, summary)});
  table.add({"Memory", memoryLine(store, summary)});
  // A script's loss is not recorded.
  if (!store.ownScript() || summary.lossFirst) table.add({"Loss", lossLine(summary)});
  if (store.isUnobserved()) {
    table.add({"Waits", "not recorded: the level was off"});
  } else {
    table.add({"Waits", unplannedLine(summary)});
    const bool queues = full && !analysis::leftDeviceUnused(store);
    const std::string queue = queues ? queueLine(store) : std::string();
    if (!queue.empty()) table.add({"Queue", queue});
  }
  const std::string system = systemLine(store, summary, full);
  if (!system.empty()) table.add({"System", system});
}

TextTable headTable(const LiveStore& store, const RunSummary& summary,
                    const analysis::Findings& findings, const RecordingCondition& condition,
                    const analysis::TimeAccount& account, bool full) {
  const bool unused = analysis::leftDeviceUnused(store);
  TextTable head({Align::kLeft, Align::kLeft});
  for (const std::string& each : condition.damage) head.add({"Damaged", plainText(each)});
  addNumbers(head, store, summary, full);
  if (const std::string time = accountLine(account); !time.empty()) head.add({"Time", time});
  if (!unused) addTuningLine(store, findings, full, head);
  addOutsideLine(head, store, summary);
  head.add({"Ended", endLine(store, condition)});
  if (store.hello()) {
    head.add({"Device", deviceSentence(store.hello()->device) +
                            (unused ? "; the script has put no tensor on it" : "")});
  }
  if (store.run()) {
    head.add({"Run", runLine(*store.run())});
    head.add({"Data", dataLine(store)});
  }
  if (store.hello()) {
    const Hello& hello = *store.hello();
    head.add({"Versions", plainText((store.ownScript() ? "highwater " : "highwater-worker ") +
                                    hello.workerVersion + ", PyTorch " + hello.torchVersion + ", " +
                                    hello.platform)});
  }
  if (full) {
    head.add({"Events", std::to_string(store.eventCount()) + ", dropped: " + droppedLine(store)});
  } else if (store.dropped() > 0) {
    head.add({"Dropped", droppedLine(store)});
  }
  if (full && !unused) {
    addGrowthLine(store, head);
    addDeviceLines(store, head);
  }
  return head;
}

TextTable factTable(const LiveStore& store, const RunSummary& summary) {
  TextTable numbers({Align::kLeft, Align::kRight});
  for (const analysis::Fact& fact : analysis::facts()) {
    const bool isShown = fact.group == analysis::FactGroup::kTime ||
                         fact.group == analysis::FactGroup::kMemory || fact.key == "steps";
    const auto value = fact.value(store, summary);
    if (isShown && value.value_or(0) != 0) {
      numbers.add({std::string(fact.label), analysis::factText(fact.quantity, *value)});
    }
  }
  return numbers;
}

}  // namespace highwater::report
