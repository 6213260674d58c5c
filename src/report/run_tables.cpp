#include "report/run_tables.h"

#include <QJsonArray>
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/event_kinds.h"
#include "core/knobs.h"
#include "core/names.h"
#include "core/units.h"
#include "core/version.h"
#include "report/report_values.h"
#include "report/run_table_columns.h"

namespace highwater::report {
namespace {

using columns::EventTable;
using columns::realCell;
using columns::textCell;
using events::StepRecord;
using Type = TableColumn::Type;

/// A column of a table that is made from the JSON report: docs/report-json.md says what it means.
struct ReportColumn {
  const char* name;
  Type type;
  const char* key;          ///< in an object of the array
  const char* member = "";  ///< of the object there, if it is one
};

constexpr const char* kFindings = "findings";
constexpr ReportColumn kFindingColumns[] = {{"kind", Type::kText, "kind"},
                                            {"title", Type::kText, "title"},
                                            {"evidence", Type::kText, "evidence"},
                                            {"advice", Type::kText, "advice"},
                                            {"line", Type::kText, "line"},
                                            {"waits_ms", Type::kReal, "waits_ms"},
                                            {"gain_ms", Type::kReal, "gain_ms", "estimate"},
                                            {"gain_low_ms", Type::kReal, "gain_ms", "low"},
                                            {"gain_high_ms", Type::kReal, "gain_ms", "high"},
                                            {"count", Type::kInteger, "count"},
                                            {"first_step", Type::kInteger, "first_step"},
                                            {"last_step", Type::kInteger, "last_step"}};

constexpr const char* kAccount = "account";
constexpr ReportColumn kAccountColumns[] = {
    {"region", Type::kText, "region"},      {"part", Type::kText, "part"},
    {"activity", Type::kText, "activity"},  {"kind", Type::kText, "kind"},
    {"planned", Type::kInteger, "planned"}, {"op", Type::kText, "op"},
    {"module", Type::kText, "module"},      {"line", Type::kText, "line"},
    {"count", Type::kInteger, "count"},     {"total_ms", Type::kReal, "total_ms"}};

constexpr const char* kAccepted = "accepted_fallbacks";
constexpr ReportColumn kAcceptedColumns[] = {{"op", Type::kText, "op"},
                                             {"reason", Type::kText, "reason"},
                                             {"count", Type::kInteger, "count"},
                                             {"ms_per_step", Type::kReal, "cost_ms_per_step"}};

constexpr const char* kRun = "run";

template <typename Columns>
std::vector<TableColumn> heads(const Columns& columns) {
  std::vector<TableColumn> all;
  for (const auto& each : columns) all.push_back({each.name, each.type});
  return all;
}

template <typename Event>
RunTable tableOf() {
  return {EventTable<Event>::kName, EventTable<Event>::kText, heads(EventTable<Event>::kColumns)};
}

template <typename Event>
const RunTable& knownTable() {
  static const RunTable& table = *runTable(EventTable<Event>::kName);
  return table;
}

template <typename Event>
std::vector<Cell> cellsOf(const Event& event, const DefinitionTable& definitions) {
  std::vector<Cell> cells;
  cells.reserve(std::size(EventTable<Event>::kColumns));
  for (const auto& column : EventTable<Event>::kColumns) {
    cells.push_back(column.value(event, definitions));
  }
  return cells;
}

/// What is kept of steps whose time on the device has not come.
constexpr std::size_t kMostSteps = 4096;

}  // namespace

const std::vector<RunTable>& runTables() {
  static const std::vector<RunTable> tables = {
      {kRun, "a fact about the run, by its key", {{"key", Type::kText}, {"value", Type::kText}}},
      tableOf<StepRecord>(),
      tableOf<events::PhaseSpan>(),
      tableOf<events::NamedSpan>(),
      tableOf<events::SyncPoint>(),
      tableOf<events::FallbackEvent>(),
      tableOf<events::OpSpan>(),
      tableOf<events::Marker>(),
      tableOf<events::Evaluation>(),
      tableOf<events::HostSample>(),
      tableOf<events::MemorySample>(),
      tableOf<events::PhaseMemory>(),
      tableOf<events::SystemSample>(),
      tableOf<events::MachineSample>(),
      {kFindings, "a problem of the run, the worst first", heads(kFindingColumns), true},
      {kAccount, "where the time of the run went", heads(kAccountColumns), true},
      {kAccepted, "an op that may run on the CPU", heads(kAcceptedColumns), true}};
  return tables;
}

const RunTable* runTable(std::string_view name) {
  const auto& tables = runTables();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [name](const RunTable& each) { return each.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

RunTables::RunTables(RowSink& sink, std::optional<analysis::TimeRange> range)
    : sink_(sink), range_(range) {}

void RunTables::take(std::span<const std::uint8_t>, const Message& message) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    hello_ = *hello;
    sink_.begin(deviceLabel(hello->device));
  } else if (const auto* run = std::get_if<RunDescription>(&message)) {
    run_ = *run;
  } else if (const auto* end = std::get_if<RunEnd>(&message)) {
    end_ = *end;
  } else if (const auto* defined = std::get_if<Definitions>(&message)) {
    definitions_.add(*defined);
  } else if (const auto* batch = std::get_if<EventBatch>(&message)) {
    takeBatch(*batch);
  } else if (const auto* note = std::get_if<Note>(&message)) {
    if (!isAsked(range_, note->timeNs, note->timeNs)) return;
    const Cell cells[] = {toMs(note->timeNs),
                          std::int64_t{note->step},
                          textCell(markerKindKey(events::MarkerKind::Note)),
                          {},
                          {},
                          textCell(note->text)};
    add(knownTable<events::Marker>(), cells);
  }
}

void RunTables::takeBatch(const EventBatch& batch) {
  for (const events::DropRecord& drop : batch.drops) {
    dropped_ += drop.count();
  }
  for (const StepRecord& step : batch.steps) {
    if (!isAsked(range_, step.begin_ns(), endNsOf(step))) continue;
    steps_.push_back({step.step(), cellsOf(step, definitions_)});
  }
  for (const events::DeviceSpan& span : batch.deviceSpans) {
    const auto step = std::find_if(steps_.rbegin(), steps_.rend(),
                                   [&](const Step& each) { return each.number == span.step(); });
    if (step != steps_.rend()) {
      step->cells[EventTable<StepRecord>::kDeviceMs] = toMs(span.device_ns());
    }
  }
  addSteps(kMostSteps);
  addAll(batch.phases);
  addAll(batch.namedSpans);
  addAll(batch.syncPoints);
  addAll(batch.fallbacks);
  addAll(batch.ops);
  addAll(batch.markers);
  addAll(batch.evaluations);
  addAll(batch.hostSamples);
  addAll(batch.memorySamples);
  addAll(batch.phaseMemory);
  addAll(batch.systemSamples);
  addAll(batch.machineSamples);
}

template <typename Event>
void RunTables::addAll(std::span<const Event> events) {
  const RunTable& table = knownTable<Event>();
  if (!sink_.wants(table)) return;
  for (const Event& event : events) {
    if (isAsked(range_, beginNsOf(event), endNsOf(event))) add(table, cellsOf(event, definitions_));
  }
}

void RunTables::finish(const RecordingCondition& condition) {
  addSteps(0);
  const RunTable& table = *runTable(kRun);
  const auto put = [&](std::string_view key, const std::string& value) {
    const Cell cells[] = {std::string(key), textCell(value)};
    add(table, cells);
  };
  const auto number = [](double value) {
    std::string text;
    appendNumber(text, value);
    return text;
  };
  if (!hello_) return;
  put("worker_version", hello_->workerVersion);
  put("exported_by", "Highwater " + std::string(kVersion));
  put("device", std::string(deviceLabel(hello_->device)));
  put("device_reason", hello_->device.reason);
  put("simulated", hello_->device.simulated ? "true" : "false");
  put("torch_version", hello_->torchVersion);
  put("platform", hello_->platform);
  put("process_id", std::to_string(hello_->processId));
  put("started_unix_ns", std::to_string(hello_->clock.unixEpochNs));
  put("recommended_bytes", std::to_string(hello_->limits.recommendedBytes));
  put("low_watermark_ratio", number(hello_->limits.lowWatermarkRatio));
  put("high_watermark_ratio", number(hello_->limits.highWatermarkRatio));
  put("system_bytes", std::to_string(hello_->limits.systemBytes));
  put("workload", run_.workload);
  put("model", run_.model);
  put("optimizer", run_.optimizer);
  put("dtype", run_.dtype);
  put("parameters", std::to_string(run_.parameters));
  put("scenario", run_.scenario);
  // Of a script the steps tell.
  for (const Knob& knob : allKnobs()) {
    if (!run_.ownScript) put(markerKindKey(knob.kind), knobText(knob, knob.value(run_.knobs)));
  }
  put("probe_level", std::string(probeLevelKey(run_.probeLevel)));
  put("events_lost", std::to_string(dropped_));
  put("ended", end_ ? std::string(runEndKey(end_->reason)) : "");
  put("end_message", end_ ? end_->message : "");
  put("exit_code", end_ ? std::to_string(end_->exitCode) : "");
  put("being_written", condition.beingWritten ? "true" : "false");
  put("damage", condition.damage.empty() ? "" : condition.damage.front());
}

void RunTables::addReport(const QJsonObject& report) {
  const auto fill = [&](const char* name, const QJsonArray& rows, const auto& columns) {
    const RunTable& table = *runTable(name);
    if (!sink_.wants(table)) return;
    for (const QJsonValue& row : rows) {
      std::vector<Cell> cells;
      for (const ReportColumn& column : columns) {
        QJsonValue value = row[QLatin1String(column.key)];
        if (column.member[0] != '\0') value = value[QLatin1String(column.member)];
        if (value.isString()) {
          cells.push_back(textCell(value.toString().toStdString()));
        } else if (value.isBool()) {
          cells.emplace_back(std::int64_t{value.toBool()});
        } else if (!value.isDouble()) {
          cells.emplace_back();
        } else if (column.type == Type::kInteger) {
          cells.emplace_back(std::int64_t{value.toInteger()});
        } else {
          cells.push_back(realCell(value.toDouble()));
        }
      }
      add(table, cells);
    }
  };
  fill(kFindings, report["findings"].toArray(), kFindingColumns);
  fill(kAccount, report["time"]["rows"].toArray(), kAccountColumns);
  fill(kAccepted, report["accepted_fallbacks"].toArray(), kAcceptedColumns);
}

void RunTables::add(const RunTable& table, std::span<const Cell> cells) {
  if (!sink_.wants(table)) return;
  sink_.row(table, cells);
  ++written_;
}

void RunTables::addSteps(std::size_t most) {
  const auto isDone = [](const Step& step) {
    return !std::holds_alternative<std::monostate>(step.cells[EventTable<StepRecord>::kDeviceMs]);
  };
  while (!steps_.empty() && (steps_.size() > most || isDone(steps_.front()))) {
    add(knownTable<StepRecord>(), steps_.front().cells);
    steps_.pop_front();
  }
}

}  // namespace highwater::report
