#include "report/report_device.h"

#include <QJsonArray>
#include <cmath>

#include "analysis/device/device_path.h"
#include "analysis/device/idle_estimate.h"
#include "analysis/device/phase_execution.h"
#include "analysis/findings/findings.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

using analysis::ExecutionSummary;
using analysis::HostLead;
using analysis::IdleSummary;
using analysis::IdleTime;
using analysis::LiveStore;
using analysis::PathKind;
using analysis::PathSummary;
using analysis::PhaseExecution;

constexpr std::size_t kMostOtherPaths = 3;
constexpr std::size_t kMostIdleCauses = 3;
constexpr std::size_t kMostWorkPlaces = 10;
constexpr double kLeastShownMs = 0.01;
/// The kind of a value that was not measured itself; the text report says "estimate" too.
const QJsonValue kEstimate = QStringLiteral("estimate");

std::string stepsText(std::uint64_t steps) {
  return std::to_string(steps) + (steps == 1 ? " step" : " steps");
}

/// "4", or "1.5" for the median of an even number of steps.
std::string countText(double count) {
  const auto tenths = std::lround(count * 10);
  const std::string whole = std::to_string(tenths / 10);
  return tenths % 10 == 0 ? whole : whole + '.' + std::to_string(tenths % 10);
}

QJsonObject pathJson(const PathSummary& paths) {
  QJsonArray chains, steps;
  for (const PathKind& kind : paths.kinds) {
    chains.append(QJsonObject{{"chain", text(kind.chain)},
                              {"changes", integer(kind.changes)},
                              {"deliberate", integer(kind.deliberate)},
                              {"accepted", integer(kind.accepted)},
                              {"steps", integer(kind.steps)},
                              {"first_step", integer(kind.firstStep)}});
  }
  for (const analysis::StepPath& step : paths.steps) {
    steps.append(QJsonObject{{"step", integer(step.step)},
                             {"changes", integer(step.changes)},
                             {"deliberate", integer(step.deliberate)},
                             {"accepted", integer(step.accepted)}});
  }
  return {{"changes_p50", paths.changesP50},
          {"deliberate_p50", paths.deliberateP50},
          {"accepted_p50", paths.acceptedP50},
          {"unplanned_p50", paths.unplannedP50},
          {"chains", chains},
          {"steps", steps}};
}

std::string changesText(const PathKind& kind) {
  return std::to_string(kind.changes) + (kind.changes == 1 ? " switch, " : " switches, ") +
         std::to_string(kind.deliberate) + " planned" +
         (kind.accepted > 0 ? ", " + std::to_string(kind.accepted) + " accepted" : "");
}

void addPathLines(const LiveStore& store, TextTable& head) {
  const PathSummary paths = analysis::summarizePaths(store);
  if (paths.steps.empty()) return;
  head.add({"Switches",
            "backend switches a step: " + countText(paths.changesP50) +
                ", planned: " + countText(paths.deliberateP50) +
                (paths.acceptedP50 > 0 ? ", accepted: " + countText(paths.acceptedP50) : "") +
                ", unplanned: " + countText(paths.unplannedP50) + " (medians of " +
                stepsText(paths.steps.size()) + ")"});
  std::size_t shown = 0, others = 0;
  for (const PathKind& kind : paths.kinds) {
    if (shown > kMostOtherPaths) {
      others += kind.steps;
      continue;
    }
    head.add({shown++ == 0 ? "Path" : "", plainText(kind.chain) + " (" + changesText(kind) + "; " +
                                              stepsText(kind.steps) + ")"});
  }
  if (others > 0) head.add({"", "and others, " + stepsText(others)});
}

QJsonValue leadJson(const std::optional<HostLead>& lead) {
  if (!lead) return QJsonValue();
  return QJsonObject{{"kind", kEstimate},
                     {"steps", integer(lead->steps)},
                     {"p50_ms", lead->p50Ms},
                     {"max_ms", lead->maxMs},
                     {"p50_steps", orNull(lead->p50Steps)},
                     {"max_steps", orNull(lead->maxSteps)}};
}

QJsonObject executionJson(const ExecutionSummary& execution) {
  QJsonArray phases;
  for (const PhaseExecution& each : execution.phases) {
    QJsonArray names;
    for (const events::Phase phase : each.phases) names.append(text(phaseKey(phase)));
    phases.append(QJsonObject{{"phases", names},
                              {"steps", integer(each.steps)},
                              {"queued_ms", each.queuedMs},
                              {"executed_kind", each.highMs ? kEstimate : QJsonValue()},
                              {"executed_low_ms", orNull(each.lowMs)},
                              {"executed_high_ms", orNull(each.highMs)}});
  }
  return {{"steps", integer(execution.steps)},
          {"queued_ms", execution.steps > 0 ? QJsonValue(execution.stepQueuedMs) : QJsonValue()},
          {"device_span_ms", orNull(execution.stepDeviceMs)},
          {"phases", phases},
          {"host_ahead", leadJson(execution.lead)}};
}

QJsonValue workJson(const analysis::DeviceWork& work) {
  if (work.places.empty()) return QJsonValue();
  QJsonArray places;
  for (const analysis::DeviceWorkPlace& each : work.places) {
    QJsonArray ops;
    for (const std::string& op : each.ops) ops.append(text(op));
    places.append(QJsonObject{{"line", textOrNull(each.site.line)},
                              {"module", textOrNull(each.module)},
                              {"largest_op", text(each.op)},
                              {"shapes", textOrNull(each.shapes)},
                              {"ops", ops},
                              {"calls", integer(each.calls)},
                              {"bytes", integer(each.bytes)},
                              {"flops", integer(each.flops)},
                              {"low_share", real(each.low)},
                              {"high_share", real(each.high)}});
  }
  QJsonObject json{{"kind", kEstimate}, {"places", places}};
  if (work.step > 0) json["step"] = integer(work.step);
  return json;
}

void addIdleTime(const IdleTime& idle, const char* prefix, QJsonObject& to) {
  const QLatin1String begin(prefix);
  to[begin + QLatin1String("low_ms")] = idle.low;
  to[begin + QLatin1String("ms")] = idle.probable;
  to[begin + QLatin1String("high_ms")] = idle.high;
}

QJsonObject idleJson(const IdleSummary& idle) {
  QJsonArray causes, steps;
  for (const analysis::CauseOfIdle& each : idle.causes) {
    QJsonObject cause{{"cause", text(idleCauseKey(each.cause))}};
    addIdleTime(each.p50, "", cause);
    addIdleTime(each.total, "total_", cause);
    causes.append(cause);
  }
  for (const analysis::StepIdle& each : idle.steps) {
    QJsonObject step{{"step", integer(each.step)}, {"step_ms", each.ms}};
    addIdleTime(each.total, "", step);
    steps.append(step);
  }
  QJsonObject all{{"kind", kEstimate},
                  {"steps", integer(idle.steps.size())},
                  {"step_ms", idle.stepMsP50},
                  {"causes", causes},
                  {"per_step", steps}};
  addIdleTime(idle.p50, "", all);
  return all;
}

std::string executedText(const PhaseExecution& execution) {
  std::string line = "queued in " + formatMs(execution.queuedMs);
  if (!execution.highMs) return line + ", executed together with other phases";
  line += execution.lowMs
              ? ", executed in " + formatMs(*execution.lowMs) + " to " + formatMs(*execution.highMs)
              : ", executed in at most " + formatMs(*execution.highMs);
  return line + " (estimate, by the waits of " + stepsText(execution.steps) + ")";
}

std::string phasesText(const PhaseExecution& execution) {
  std::string names;
  for (const events::Phase phase : execution.phases) {
    names += (names.empty() ? "" : " and ") + std::string(phaseName(phase));
  }
  return names;
}

std::string stepText(const ExecutionSummary& execution) {
  std::string line = "queued in " + formatMs(execution.stepQueuedMs);
  line += execution.stepDeviceMs ? ", executed in " + formatMs(*execution.stepDeviceMs) +
                                       " (device span, idle time in it included)"
                                 : std::string(", device span unknown");
  return line + ", medians of " + stepsText(execution.steps);
}

std::string stepsOf(const std::optional<double>& steps) {
  return steps ? " (" + formatDecimals(*steps, 1) + " steps)" : std::string();
}

std::string leadText(const HostLead& lead) {
  return "median " + formatMs(lead.p50Ms) + stepsOf(lead.p50Steps) + ", at most " +
         formatMs(lead.maxMs) + stepsOf(lead.maxSteps) +
         " (estimate, by waits and device spans of " + stepsText(lead.steps) + ")";
}

void addIdleLine(const LiveStore& store, TextTable& head) {
  const IdleSummary idle = analysis::estimateIdle(store);
  if (idle.steps.empty()) return;
  const std::string bounds = formatMs(idle.p50.low) + " to " + formatMs(idle.p50.high);
  if (idle.p50.high - idle.p50.low > analysis::kUnknownIdleShare * idle.stepMsP50) {
    head.add({"Idle", "a step: not known, " + bounds + " of " + formatMs(idle.stepMsP50) +
                          "; only steps that wait for the device tell when it was done"});
    return;
  }
  std::string line = "a step: about " + formatMs(idle.p50.probable) + " of " +
                     formatMs(idle.stepMsP50) + " (estimate, " + bounds + ")";
  std::size_t shown = 0;
  for (const analysis::CauseOfIdle& each : idle.causes) {
    if (each.p50.probable < kLeastShownMs || shown == kMostIdleCauses) break;
    line += (shown++ == 0 ? ", by " : ", ") + std::string(idleCauseName(each.cause)) + ' ' +
            formatMs(each.p50.probable);
  }
  head.add({"Idle", line});
}

}  // namespace

std::string deviceSentence(const DeviceReport& device) {
  const std::string label(deviceLabel(device));
  return device.reason.empty() ? label : label + ": " + plainText(device.reason);
}

void addDeviceParts(const LiveStore& store, QJsonObject& report) {
  const bool known = store.hasQueue() && !store.isUnobserved();
  const auto orNone = [known](const QJsonObject& part) {
    return known ? QJsonValue(part) : QJsonValue();
  };
  report["device_path"] = orNone(pathJson(analysis::summarizePaths(store)));
  report["execution"] = orNone(executionJson(analysis::summarizeExecution(store)));
  report["idle_estimate"] = orNone(idleJson(analysis::estimateIdle(store)));
  report["device_work"] = workJson(analysis::estimateDeviceWork(store));
  report["evaluation_work"] = workJson(analysis::estimateEvaluationWork(store));
}

void addDeviceLines(const LiveStore& store, TextTable& head) {
  if (store.isUnobserved()) return;
  addIdleLine(store, head);
  addPathLines(store, head);
}

TextTable deviceWorkTable(const analysis::DeviceWork& work) {
  using Align = TextTable::Align;
  TextTable table({Align::kRight, Align::kLeft, Align::kLeft});
  table.foldFrom(2);
  for (std::size_t i = 0; i < std::min(kMostWorkPlaces, work.places.size()); ++i) {
    const analysis::DeviceWorkPlace& each = work.places[i];
    const std::string calls = std::to_string(each.calls) + (each.calls == 1 ? " op" : " ops");
    table.add({analysis::shareText(each), plainText(each.site.line),
               plainText(calls + ", the largest " + analysis::largestOpText(each))});
  }
  return table;
}

TextTable executionTable(const LiveStore& store) {
  TextTable table({TextTable::Align::kLeft, TextTable::Align::kLeft});
  const ExecutionSummary execution = analysis::summarizeExecution(store);
  if (execution.steps == 0 || store.isUnobserved()) return table;
  for (const PhaseExecution& each : execution.phases) {
    table.add({phasesText(each), executedText(each)});
  }
  table.add({"step", stepText(execution)});
  if (execution.lead) table.add({"host ahead", leadText(*execution.lead)});
  return table;
}

}  // namespace highwater::report
