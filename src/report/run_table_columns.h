#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/events_generated.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/run_tables.h"

/// The columns of the tables of events, for run_tables.cpp alone.
namespace highwater::report::columns {

using Type = TableColumn::Type;

inline Cell realCell(double value) {
  return std::isfinite(value) ? Cell(value) : Cell();
}

inline Cell textCell(std::string_view value) {
  return value.empty() ? Cell() : Cell(plainText(value));
}

/// A column of a table of events: its value for an event.
template <typename Event>
struct EventColumn {
  const char* name;
  Type type;
  Cell (*value)(const Event& event, const DefinitionTable& definitions);
};

template <typename Field>
struct FieldTraits;
template <typename Of, typename As>
struct FieldTraits<As (Of::*)() const> {
  using Event = Of;
  using Value = As;
};
/// The event that a field belongs to.
template <auto kField>
using EventOf = typename FieldTraits<decltype(kField)>::Event;
template <auto kField>
using Column = EventColumn<EventOf<kField>>;

/// A field's number as it is.
template <auto kField, bool kMinusOneIsUnknown = false>
constexpr Column<kField> number(const char* head) {
  using Value = typename FieldTraits<decltype(kField)>::Value;
  constexpr bool isReal = std::is_floating_point_v<Value>;
  return {head, isReal ? Type::kReal : Type::kInteger,
          [](const EventOf<kField>& event, const DefinitionTable&) {
            const Value value = (event.*kField)();
            if (kMinusOneIsUnknown && value == static_cast<Value>(-1)) return Cell();
            if constexpr (isReal) {
              return realCell(static_cast<double>(value));
            } else {
              return Cell(static_cast<std::int64_t>(value));
            }
          }};
}

/// A number whose field is -1 where it is unknown (core/events.fbs).
template <auto kField>
constexpr Column<kField> reading(const char* head) {
  return number<kField, true>(head);
}

/// A field in nanoseconds, as milliseconds.
template <auto kField>
constexpr Column<kField> ms(const char* head) {
  return {head, Type::kReal, [](const EventOf<kField>& event, const DefinitionTable&) {
            return Cell(toMs(static_cast<std::int64_t>((event.*kField)())));
          }};
}

/// The text of a field that is a name's id.
template <auto kField>
constexpr Column<kField> name(const char* head) {
  return {head, Type::kText, [](const EventOf<kField>& event, const DefinitionTable& definitions) {
            return textCell(definitions.name((event.*kField)()));
          }};
}

template <auto kField>
constexpr Column<kField> module(const char* head) {
  return {head, Type::kText, [](const EventOf<kField>& event, const DefinitionTable& definitions) {
            return textCell(definitions.modulePath((event.*kField)()));
          }};
}

template <auto kField>
constexpr Column<kField> site(const char* head) {
  return {head, Type::kText, [](const EventOf<kField>& event, const DefinitionTable& definitions) {
            return textCell(definitions.callSite((event.*kField)()));
          }};
}

/// A field's word, as the JSON report has it.
template <auto kField, auto kKey>
constexpr Column<kField> key(const char* head) {
  return {head, Type::kText, [](const EventOf<kField>& event, const DefinitionTable&) {
            return textCell(kKey((event.*kField)()));
          }};
}

/// Name, text and columns of the table of a kind of event.
template <typename Event>
struct EventTable;

using events::StepRecord;

/// A field of a step that is unknown where its inputs have no length.
template <auto kField>
constexpr Column<kField> ofLength(const char* head) {
  return {head, Type::kInteger, [](const StepRecord& step, const DefinitionTable&) {
            const auto value = static_cast<std::int64_t>((step.*kField)());
            return step.sequence_length() == 0 ? Cell() : Cell(value);
          }};
}

template <>
struct EventTable<StepRecord> {
  static constexpr const char* kName = "steps";
  static constexpr const char* kText = "a training step";
  static constexpr std::size_t kDeviceMs = 3;  ///< the column that may follow later
  static constexpr EventColumn<StepRecord> kColumns[] = {
      number<&StepRecord::step>("step"),
      ms<&StepRecord::begin_ns>("begin_ms"),
      ms<&StepRecord::duration_ns>("duration_ms"),
      {"device_ms", Type::kReal,
       [](const StepRecord& step, const DefinitionTable&) {
         return step.device_ns() < 0 ? Cell() : Cell(toMs(step.device_ns()));
       }},
      number<&StepRecord::batch_size>("batch_size"),
      ofLength<&StepRecord::sequence_length>("sequence_length"),
      ofLength<&StepRecord::tokens>("tokens"),
      {"loss", Type::kReal,
       [](const StepRecord& step, const DefinitionTable&) {
         return step.loss_read() != 0 ? realCell(static_cast<double>(step.loss())) : Cell();
       }},
      number<&StepRecord::peak_current_bytes>("peak_current_bytes"),
      number<&StepRecord::peak_current_exact>("peak_current_exact"),
      number<&StepRecord::peak_driver_bytes>("peak_driver_bytes"),
  };
};

using events::PhaseSpan;
template <>
struct EventTable<PhaseSpan> {
  static constexpr const char* kName = "phases";
  static constexpr const char* kText = "a phase of a step, as the host went through it";
  static constexpr EventColumn<PhaseSpan> kColumns[] = {
      ms<&PhaseSpan::begin_ns>("begin_ms"), ms<&PhaseSpan::duration_ns>("duration_ms"),
      number<&PhaseSpan::step>("step"), key<&PhaseSpan::phase, &phaseKey>("phase"),
      number<&PhaseSpan::thread>("thread")};
};

using events::NamedSpan;
template <>
struct EventTable<NamedSpan> {
  static constexpr const char* kName = "regions";
  static constexpr const char* kText = "an evaluation, or a part that the script names";
  static constexpr EventColumn<NamedSpan> kColumns[] = {
      ms<&NamedSpan::begin_ns>("begin_ms"),       ms<&NamedSpan::duration_ns>("duration_ms"),
      number<&NamedSpan::step>("step"),           name<&NamedSpan::name>("name"),
      number<&NamedSpan::continued>("continued"), number<&NamedSpan::thread>("thread")};
};

using events::OpSpan;
template <>
struct EventTable<OpSpan> {
  static constexpr const char* kName = "ops";
  static constexpr const char* kText = "an op, of recordings with --level ops";
  static constexpr EventColumn<OpSpan> kColumns[] = {
      ms<&OpSpan::begin_ns>("begin_ms"),
      ms<&OpSpan::duration_ns>("duration_ms"),
      number<&OpSpan::step>("step"),
      key<&OpSpan::phase, &phaseKey>("phase"),
      name<&OpSpan::op>("op"),
      module<&OpSpan::module_id>("module"),
      name<&OpSpan::shapes>("shapes"),
      number<&OpSpan::depth>("depth"),
      number<&OpSpan::backward>("backward"),
      reading<&OpSpan::current_bytes>("current_bytes"),
      number<&OpSpan::grown_bytes>("grown_bytes"),
      number<&OpSpan::thread>("thread")};
};

using events::SyncPoint;
template <>
struct EventTable<SyncPoint> {
  static constexpr const char* kName = "sync_points";
  static constexpr const char* kText = "a wait of the host for the device";
  static constexpr EventColumn<SyncPoint> kColumns[] = {
      ms<&SyncPoint::begin_ns>("begin_ms"),
      ms<&SyncPoint::duration_ns>("duration_ms"),
      number<&SyncPoint::step>("step"),
      key<&SyncPoint::phase, &phaseKey>("phase"),
      key<&SyncPoint::kind, &syncKindKey>("kind"),
      number<&SyncPoint::deliberate>("deliberate"),
      name<&SyncPoint::op>("op"),
      module<&SyncPoint::module_id>("module"),
      site<&SyncPoint::call_site>("call_site"),
      number<&SyncPoint::bytes>("bytes"),
      number<&SyncPoint::thread>("thread")};
};

using events::FallbackEvent;
template <>
struct EventTable<FallbackEvent> {
  static constexpr const char* kName = "fallbacks";
  static constexpr const char* kText = "an op that ran on the CPU, as the device has none";
  static constexpr EventColumn<FallbackEvent> kColumns[] = {
      ms<&FallbackEvent::begin_ns>("begin_ms"),
      ms<&FallbackEvent::duration_ns>("duration_ms"),
      ms<&FallbackEvent::wait_ns>("wait_ms"),
      number<&FallbackEvent::step>("step"),
      key<&FallbackEvent::phase, &phaseKey>("phase"),
      name<&FallbackEvent::op>("op"),
      module<&FallbackEvent::module_id>("module"),
      site<&FallbackEvent::call_site>("call_site"),
      number<&FallbackEvent::bytes_to_cpu>("bytes_to_cpu"),
      number<&FallbackEvent::bytes_to_device>("bytes_to_device"),
      number<&FallbackEvent::thread>("thread")};
};

using events::Marker;
template <>
struct EventTable<Marker> {
  static constexpr const char* kName = "markers";
  static constexpr const char* kText = "a change or an incident of the run, or a note";
  static constexpr EventColumn<Marker> kColumns[] = {
      ms<&Marker::time_ns>("time_ms"),
      number<&Marker::step>("step"),
      key<&Marker::kind, &markerKindKey>("kind"),
      {"value_before", Type::kReal,
       [](const Marker& marker, const DefinitionTable&) {
         return realCell(marker.value_before());
       }},
      {"value_after", Type::kReal,
       [](const Marker& marker, const DefinitionTable&) { return realCell(marker.value_after()); }},
      {"text", Type::kText, [](const Marker& marker, const DefinitionTable& definitions) {
         return textCell(definitions.markerText(marker));
       }}};
};

using events::Evaluation;
template <>
struct EventTable<Evaluation> {
  static constexpr const char* kName = "evaluations";
  static constexpr const char* kText = "the result on the held-out set";
  static constexpr EventColumn<Evaluation> kColumns[] = {
      ms<&Evaluation::time_ns>("time_ms"), number<&Evaluation::step>("step"),
      number<&Evaluation::samples>("samples"), number<&Evaluation::accuracy>("accuracy"),
      number<&Evaluation::loss>("loss")};
};

using events::HostSample;
template <>
struct EventTable<HostSample> {
  static constexpr const char* kName = "host_samples";
  static constexpr const char* kText = "the line that the training ran, some 25 times a second";
  static constexpr EventColumn<HostSample> kColumns[] = {
      ms<&HostSample::time_ns>("time_ms"),
      number<&HostSample::step>("step"),
      key<&HostSample::phase, &phaseKey>("phase"),
      site<&HostSample::call_site>("call_site"),
      {"text", Type::kText, [](const HostSample& sample, const DefinitionTable& definitions) {
         return textCell(definitions.callSiteParts(sample.call_site()).text);
       }}};
};

using events::PhaseMemory;
template <>
struct EventTable<PhaseMemory> {
  static constexpr const char* kName = "phase_memory";
  static constexpr const char* kText = "what a phase of a step took";
  static constexpr EventColumn<PhaseMemory> kColumns[] = {
      number<&PhaseMemory::step>("step"), key<&PhaseMemory::phase, &phaseKey>("phase"),
      number<&PhaseMemory::peak_current_bytes>("peak_current_bytes"),
      number<&PhaseMemory::peak_reserved_bytes>("peak_reserved_bytes"),
      number<&PhaseMemory::current_bytes>("current_bytes")};
};

using events::MemorySample;
template <>
struct EventTable<MemorySample> {
  static constexpr const char* kName = "memory_samples";
  static constexpr const char* kText = "the device's memory at a time";
  static constexpr EventColumn<MemorySample> kColumns[] = {
      ms<&MemorySample::time_ns>("time_ms"), number<&MemorySample::current_bytes>("current_bytes"),
      number<&MemorySample::driver_bytes>("driver_bytes"),
      number<&MemorySample::recommended_bytes>("recommended_bytes")};
};

using events::SystemSample;
template <>
struct EventTable<SystemSample> {
  static constexpr const char* kName = "system_samples";
  static constexpr const char* kText = "process and machine at a time";
  static constexpr EventColumn<SystemSample> kColumns[] = {
      ms<&SystemSample::time_ns>("time_ms"),
      reading<&SystemSample::footprint_bytes>("footprint_bytes"),
      reading<&SystemSample::available_bytes>("available_bytes"),
      reading<&SystemSample::swap_used_bytes>("swap_used_bytes"),
      reading<&SystemSample::gpu_percent>("gpu_percent")};
};

using events::MachineSample;
template <>
struct EventTable<MachineSample> {
  static constexpr const char* kName = "machine_samples";
  static constexpr const char* kText = "more readings of the machine";
  static constexpr EventColumn<MachineSample> kColumns[] = {
      ms<&MachineSample::time_ns>("time_ms"),
      reading<&MachineSample::compressor_bytes>("compressor_bytes"),
      reading<&MachineSample::swapped_in_bytes>("swapped_in_bytes"),
      reading<&MachineSample::swapped_out_bytes>("swapped_out_bytes"),
      reading<&MachineSample::gpu_bytes>("gpu_bytes")};
};

}  // namespace highwater::report::columns
