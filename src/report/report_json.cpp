#include "report/report_json.h"

#include <QJsonArray>
#include <QJsonValue>

#include "analysis/device/step_queue.h"
#include "analysis/facts.h"
#include "analysis/findings/findings.h"
#include "analysis/lost_time_lines.h"
#include "analysis/named_phases.h"
#include "analysis/run_end_text.h"
#include "core/knobs.h"
#include "core/names.h"
#include "core/units.h"
#include "core/version.h"
#include "core/work_start.h"
#include "report/findings_report.h"
#include "report/report_account.h"
#include "report/report_device.h"
#include "report/report_memory.h"
#include "report/report_ops.h"
#include "report/report_sweep.h"
#include "report/report_tuning.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

using analysis::LineTotal;
using analysis::LiveStore;
using analysis::RunSummary;

QJsonValue ms(std::int64_t ns) {
  return real(toMs(ns));
}

QJsonValue knownBytes(std::uint64_t bytes) {
  return bytes > 0 ? integer(bytes) : QJsonValue();
}

/// Puts a value at a path of keys, as in "step_ms.p50", beside what is there.
void putAt(QJsonObject& object, QStringView path, const QJsonValue& value) {
  const qsizetype dot = path.indexOf(u'.');
  if (dot < 0) {
    object[path.toString()] = value;
    return;
  }
  const QString key = path.left(dot).toString();
  QJsonObject inner = object[key].toObject();
  putAt(inner, path.mid(dot + 1), value);
  object[key] = inner;
}

void addFacts(const LiveStore& store, const RunSummary& s, QJsonObject& report) {
  for (const analysis::Fact& fact : analysis::facts()) {
    const bool isWhole =
        fact.quantity == analysis::Quantity::kBytes || fact.quantity == analysis::Quantity::kCount;
    const std::optional<double> value = fact.value(store, s);
    putAt(report, text(fact.key).toString(),
          !value    ? QJsonValue()
          : isWhole ? integer(static_cast<std::uint64_t>(*value))
                    : real(*value));
  }
  const QLatin1String gpu("gpu_percent");
  if (report[gpu][QLatin1String("p50")].isNull()) report[gpu] = QJsonValue();
}

QJsonObject memoryJson(const LiveStore& store, const RunSummary& s) {
  const bool counted = s.memoryCounted;
  const auto kind = [counted](const char* word) {
    return counted ? QJsonValue(QLatin1String(word)) : QJsonValue();
  };
  QJsonObject memory{{"current_peak_kind", kind(s.currentPeakExact ? "exact" : "sampled")},
                     {"driver_peak_kind", kind("sampled")},
                     {"recommended", knownBytes(s.recommendedBytes)}};
  if (store.hello()) {
    const MemoryLimits limits = store.limits();
    memory["low_watermark_ratio"] = real(limits.lowWatermarkRatio);
    memory["high_watermark_ratio"] = real(limits.highWatermarkRatio);
    memory["system"] = knownBytes(limits.systemBytes);
    // 0 is known: the system's default.
    memory["gpu_wired_limit"] = orNull(limits.gpuWiredLimitBytes.has_value(),
                                       integer(limits.gpuWiredLimitBytes.value_or(0)));
  }
  return memory;
}

/// Null where no sample tells it.
QJsonValue thermalJson(const analysis::MachineSummary& machine) {
  const events::ThermalState highest = machine.hottest();
  if (highest == events::ThermalState::Unknown) return QJsonValue();
  QJsonObject times;
  for (const auto state : {events::ThermalState::Nominal, events::ThermalState::Fair,
                           events::ThermalState::Serious, events::ThermalState::Critical}) {
    times[text(thermalStateName(state)).toString()] =
        ms(machine.thermalNs[static_cast<std::size_t>(state)]);
  }
  return QJsonObject{{"highest", text(thermalStateName(highest))}, {"time_ms", times}};
}

QJsonObject systemJson(const analysis::SystemSummary& s, const analysis::MachineSummary& machine) {
  QJsonObject samples;
  for (const auto level :
       {events::Pressure::Normal, events::Pressure::Warning, events::Pressure::Critical}) {
    samples[text(pressureName(level)).toString()] =
        integer(s.pressureSamples[static_cast<std::size_t>(level)]);
  }
  const events::Pressure highest = s.highestPressure();
  return {{"thermal", thermalJson(machine)},
          {"pressure_highest",
           highest == events::Pressure::Unknown ? QJsonValue() : text(pressureName(highest))},
          {"pressure_samples", samples}};
}

QJsonValue percentilesJson(const std::optional<analysis::Percentiles>& values) {
  if (!values) return QJsonObject{{"p50", QJsonValue()}, {"p95", QJsonValue()}};
  return QJsonObject{{"p50", real(values->p50)}, {"p95", real(values->p95)}};
}

/// Null for a device without a queue.
QJsonValue queueJson(const LiveStore& store) {
  if (!store.hasQueue() || store.isUnobserved()) return QJsonValue();
  const analysis::QueueSummary queue = analysis::summarizeQueue(store);
  QJsonArray steps;
  for (const analysis::StepQueue& step : queue.steps) {
    steps.append(QJsonObject{{"step", integer(step.step)},
                             {"enqueue_ms", real(step.enqueueMs)},
                             {"device_span_ms", orNull(step.deviceSpanMs)},
                             {"wait_ms", real(step.waitMs)}});
  }
  return QJsonObject{{"enqueue_ms", percentilesJson(queue.enqueueMs)},
                     {"device_span_ms", percentilesJson(queue.deviceSpanMs)},
                     {"wait_ms", percentilesJson(queue.waitMs)},
                     {"steps", steps}};
}

QJsonObject phasesJson(const RunSummary& s) {
  QJsonObject phases;
  for (const events::Phase phase : kPhases) {
    const std::string_view key = phaseKey(phase);
    phases[QLatin1String(key.data(), static_cast<qsizetype>(key.size()))] =
        real(s.phaseMs[static_cast<std::size_t>(phase)]);
  }
  return phases;
}

QJsonArray linesJson(const std::vector<LineTotal>& totals, bool isSync) {
  QJsonArray ops;
  for (const LineTotal& total : totals) {
    QJsonObject op{{"op", text(total.op)},
                   {"where", text(total.where)},
                   {"line", textOrNull(total.site.line)},
                   {"function", textOrNull(total.site.function)},
                   {"library", textOrNull(total.site.library)},
                   {"count", integer(total.count)},
                   {"total_ms", ms(total.totalNs)},
                   {"bytes", integer(total.bytes)}};
    if (isSync) {
      op["kind"] = text(syncKindKey(total.kind));
      op["deliberate"] = total.deliberate;
    }
    ops.append(op);
  }
  return ops;
}

QJsonValue evaluationTimeJson(const analysis::TimeAccount& account) {
  const auto of = static_cast<std::size_t>(analysis::Region::Evaluation);
  if (account.visits[of] == 0) return QJsonValue();
  std::uint64_t waits = 0;
  std::int64_t waitNs = 0;
  for (const analysis::AccountRow& row : account.rows) {
    const bool isWait = row.activity == analysis::Activity::Wait;
    if (!isWait || row.part.region != analysis::Region::Evaluation) continue;
    waits += row.count;
    waitNs += row.ns;
  }
  return QJsonObject{{"count", integer(account.visits[of])},
                     {"total_ms", ms(account.nsIn(analysis::Region::Evaluation))},
                     {"waits", integer(waits)},
                     {"wait_ms", ms(waitNs)}};
}

QJsonArray ownPhasesJson(const std::vector<analysis::NamedPhase>& named) {
  QJsonArray phases;
  for (const analysis::NamedPhase& each : named) {
    phases.append(QJsonObject{
        {"name", text(each.name)}, {"count", integer(each.count)}, {"total_ms", ms(each.totalNs)}});
  }
  return phases;
}

QJsonArray markersJson(const LiveStore& store) {
  QJsonArray markers;
  for (const events::Marker& marker : store.markers()) {
    markers.append(QJsonObject{{"step", integer(marker.step())},
                               {"kind", text(markerKindKey(marker.kind()))},
                               {"text", text(store.markerText(marker))},
                               {"time_ms", ms(marker.time_ns())},
                               {"before", real(marker.value_before())},
                               {"after", real(marker.value_after())}});
  }
  return markers;
}

QJsonArray evaluationsJson(const LiveStore& store) {
  QJsonArray evaluations;
  for (const events::Evaluation& e : store.evaluations()) {
    evaluations.append(QJsonObject{{"step", integer(e.step())},
                                   {"samples", integer(e.samples())},
                                   {"accuracy", real(e.accuracy())},
                                   {"loss", real(e.loss())}});
  }
  return evaluations;
}

QJsonObject droppedJson(const LiveStore& store) {
  QJsonObject dropped;
  for (const auto& [kind, count] : store.droppedByKind()) {
    dropped[text(eventKindKey(kind)).toString()] = integer(count);
  }
  return dropped;
}

QJsonValue endJson(const LiveStore& store) {
  if (!store.end()) return QJsonValue();
  const RunEnd& end = *store.end();
  return QJsonObject{{"reason", text(runEndKey(end.reason))},
                     {"message", text(end.message)},
                     {"exit_code", end.exitCode},
                     {"signal", end.signal},
                     {"signal_name", textOrNull(analysis::signalName(end))},
                     {"open_op", end.openOp.empty() ? QJsonValue() : text(end.openOp)}};
}

QJsonArray knobsJson(const LiveStore& store) {
  QJsonArray knobs;
  for (const ScriptKnob& knob : store.scriptKnobs()) {
    const bool isChoice = knob.kind == ScriptKnob::Kind::kChoice;
    knobs.append(
        QJsonObject{{"name", text(knob.name)},
                    {"value", isChoice ? text(valueText(knob, knob.value)) : real(knob.value)},
                    {"declared_at", textOrNull(knob.declaredAt)}});
  }
  return knobs;
}

/// The knobs of the built-in workload that came after the first three.
void addKnobs(const Knobs& knobs, QJsonObject& run) {
  const bool isKnown = knobs.accumulation > 0;
  const auto name = [&](std::string_view word) { return isKnown ? text(word) : QJsonValue(); };
  run["learning_rate"] = orNull(isKnown, real(knobs.learningRate));
  run["accumulation"] = orNull(isKnown, integer(knobs.accumulation));
  run["precision"] = name(precisionName(knobs.precision));
  run["memory_fraction"] = orNull(knobs.memoryFraction > 0, real(knobs.memoryFraction));
  run["keep_effective_batch"] = orNull(isKnown, knobs.keepEffectiveBatch);
  run["out_of_memory_policy"] = name(policyName(knobs.outOfMemory));
}

QJsonValue loaderJson(const RunDescription& run) {
  if (!run.loader) return QJsonValue();
  return QJsonObject{{"num_workers", integer(run.loader->workers)},
                     {"persistent_workers", run.loader->persistentWorkers},
                     {"device_data", run.loader->deviceData}};
}

/// Of a script: what is known. The knobs of the built-in workload are guesses here.
QJsonObject scriptJson(const LiveStore& store) {
  const RunDescription& run = *store.run();
  const Knobs& knobs = run.knobs;
  return {
      {"own_script", true},
      {"workload", text(run.workload)},
      {"model", textOrNull(run.model)},
      {"optimizer", textOrNull(run.optimizer)},
      {"dtype", textOrNull(run.dtype)},
      {"parameters", orNull(run.parameters > 0, integer(run.parameters))},
      {"batch_size_guess", orNull(knobs.batchSize > 0, integer(knobs.batchSize))},
      {"sequence_length_guess", orNull(knobs.sequenceLength > 0, integer(knobs.sequenceLength))},
      {"steps_are", text(stepsAreKey(run.stepsAre))},
      {"loader", loaderJson(run)},
      {"knobs", knobsJson(store)}};
}

QJsonValue runJson(const LiveStore& store) {
  if (!store.run()) return QJsonValue();
  const RunDescription& run = *store.run();
  if (run.ownScript) return scriptJson(store);
  QJsonArray labels;
  for (const std::string& label : run.labels) labels.append(text(label));
  QJsonObject json{{"own_script", false},
                   {"workload", text(run.workload)},
                   {"preset", text(run.preset)},
                   {"dtype", text(run.dtype)},
                   {"dataset", text(run.dataset)},
                   {"labels", labels},
                   {"train_rows", integer(run.trainRows)},
                   {"held_out_rows", integer(run.heldOutRows)},
                   {"parameters", integer(run.parameters)},
                   {"batch_size", integer(run.knobs.batchSize)},
                   {"sequence_length", integer(run.knobs.sequenceLength)},
                   {"loss_every", integer(run.knobs.lossEvery)},
                   {"scenario", run.scenario.empty() ? QJsonValue() : text(run.scenario)},
                   {"planned_steps", integer(run.plannedSteps)}};
  addKnobs(run.knobs, json);
  return json;
}

void addHello(const Hello& hello, QJsonObject& report) {
  report["device"] = text(hello.device.selected);
  report["device_label"] = text(deviceLabel(hello.device));
  report["device_requested"] = text(hello.device.requested);
  report["device_reason"] = text(hello.device.reason);
  report["mps_built"] = hello.device.mpsBuilt;
  report["mps_available"] = hello.device.mpsAvailable;
  report["simulated"] = hello.device.simulated;
  report["work_start"] = text(workStartKey(hello.workStart));
  report["platform"] = text(hello.platform);
  report["started_unix_ms"] = static_cast<qint64>(hello.clock.unixEpochNs / 1'000'000);
}

}  // namespace

QJsonObject reportJson(const LiveStore& store, const RunSummary& s,
                       const RecordingCondition& condition) {
  const analysis::TimeAccount account = analysis::accountTime(store);
  const analysis::LostTimeLines lines = analysis::summarizeLines(store);
  QJsonArray damage;
  for (const std::string& each : condition.damage) damage.append(text(each));
  QJsonObject report{{"schema", kReportSchema},
                     {"device", QJsonValue()},
                     {"simulated", QJsonValue()},
                     {"rate_includes_last_wait", s.rateHasDrain},
                     {"rate_is_queued", s.rateIsQueued},
                     {"evaluations", evaluationsJson(store)},
                     {"memory", memoryJson(store, s)},
                     {"memory_regions", memoryRegionsJson(store)},
                     {"system", systemJson(s.system, s.machine)},
                     {"queue", queueJson(store)},
                     {"phases", phasesJson(s)},
                     {"own_phases", ownPhasesJson(analysis::summarizeNamedPhases(store))},
                     {"evaluation_time", evaluationTimeJson(account)},
                     {"time", accountJson(store, account)},
                     {"sync_points", linesJson(lines.waits, true)},
                     {"fallbacks", linesJson(lines.fallbacks, false)},
                     {"markers", markersJson(store)},
                     {"dropped_by_kind", droppedJson(store)},
                     {"end", endJson(store)},
                     {"being_written", condition.beingWritten},
                     {"damage", damage},
                     {"run", runJson(store)}};
  addFacts(store, s, report);
  const analysis::Findings findings = analysis::findProblems(store);
  addFindings(findings, report);
  addDeviceParts(store, report);
  addOpParts(store, report);
  addTuningParts(store, findings, report);
  addSweepPart(store, report);
  QJsonObject versions{{"highwater", kVersion}};
  if (store.hello()) {
    addHello(*store.hello(), report);
    versions["worker"] = text(store.hello()->workerVersion);
    versions["torch"] = text(store.hello()->torchVersion);
  }
  report["versions"] = versions;
  return report;
}

}  // namespace highwater::report
