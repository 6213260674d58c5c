#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/events_generated.h"

namespace highwater {

/// The kinds of events, in the order in which they fill a frame: a frame that cannot hold all
/// events takes the earlier kinds first. This list drives the probe's rings, the batch collector,
/// EventBatch, encoding and decoding, and the kinds' names.
///
/// X(Event, member, field, loss, name): the struct in core/events.fbs and its EventKind of the same
/// name; the member of PerEventKind; the field of the table EventBatch in wire/frames.fbs, which is
/// also the kind's key in JSON; the EventLoss; the plural that users see.
#define HIGHWATER_EVENT_KINDS(X)                                                    \
  X(StepRecord, steps, steps, kNever, "steps")                                      \
  X(DeviceSpan, deviceSpans, device_spans, kNever, "device spans")                  \
  X(PhaseMemory, phaseMemory, phase_memory, kNever, "phase memory readings")        \
  X(Marker, markers, markers, kNever, "markers")                                    \
  X(Evaluation, evaluations, evaluations, kNever, "evaluations")                    \
  X(FallbackEvent, fallbacks, fallbacks, kNever, "fallbacks")                       \
  X(Heartbeat, heartbeats, heartbeats, kNever, "heartbeats")                        \
  X(DropRecord, drops, drops, kNever, "drop records")                               \
  X(PhaseSpan, phases, phases, kNever, "phases")                                    \
  X(NamedSpan, namedSpans, named_spans, kNever, "named spans")                      \
  X(SyncPoint, syncPoints, sync_points, kNever, "sync points")                      \
  X(OpenSpan, openSpans, open_spans, kNever, "open spans")                          \
  X(OpWork, opWork, op_work, kNever, "amounts of work of ops")                      \
  X(SystemSample, systemSamples, system_samples, kWhenBehind, "system samples")     \
  X(MachineSample, machineSamples, machine_samples, kWhenBehind, "machine samples") \
  X(MemorySample, memorySamples, memory_samples, kWhenBehind, "memory samples")     \
  X(HostSample, hostSamples, host_samples, kWhenBehind, "host samples")             \
  X(OpSpan, ops, ops, kWhenBehind, "ops")

/// Whether the probe may lose events of a kind. kWhenBehind: they are dropped, and counted in a
/// DropRecord, while the thread's ring is full because the sender is behind.
enum class EventLoss { kNever, kWhenBehind };

/// Constants of an event's struct: its EventKind, its EventLoss, its key in JSON and its plural
/// name for users. Specialized for each struct in core/events.fbs.
template <typename Event>
struct EventTraits;
#define HIGHWATER_TRAITS(Event, member, field, loss, name)  \
  template <>                                               \
  struct EventTraits<events::Event> {                       \
    static constexpr auto kKind = events::EventKind::Event; \
    static constexpr auto kLoss = EventLoss::loss;          \
    static constexpr std::string_view kKey = #field;        \
    static constexpr std::string_view kName = name;         \
  };
HIGHWATER_EVENT_KINDS(HIGHWATER_TRAITS)
#undef HIGHWATER_TRAITS

/// Calls f(std::type_identity<Event>()) for each kind of event, in the order of
/// HIGHWATER_EVENT_KINDS. Event is the kind's struct.
template <typename F>
constexpr void forEachEventType(F&& f) {
#define HIGHWATER_CALL(Event, member, field, loss, name) f(std::type_identity<events::Event>());
  HIGHWATER_EVENT_KINDS(HIGHWATER_CALL)
#undef HIGHWATER_CALL
}

/// Calls f(std::type_identity<Event>()), where Event is the struct of `kind`. Does not call f if
/// `kind` is None or outside of the enum.
template <typename F>
constexpr void withEventType(events::EventKind kind, F&& f) {
  switch (kind) {
#define HIGHWATER_CASE(Event, member, field, loss, name) \
  case events::EventKind::Event:                         \
    f(std::type_identity<events::Event>());              \
    return;
    HIGHWATER_EVENT_KINDS(HIGHWATER_CASE)
#undef HIGHWATER_CASE
    default:
      return;
  }
}

/// Number of event kinds. Kinds count from 1, so arrays indexed by kind have one element more.
inline constexpr std::size_t kEventKinds = [] {
  std::size_t count = 0;
  forEachEventType([&count](auto) { ++count; });
  return count;
}();
static_assert(kEventKinds == static_cast<std::size_t>(events::EventKind::MAX),
              "HIGHWATER_EVENT_KINDS lacks a kind of core/events.fbs");

/// True if the probe may drop events of `kind`, which it does while it produces them faster than
/// they are sent. False for an unknown kind.
[[nodiscard]] constexpr bool isDroppable(events::EventKind kind) {
  bool droppable = false;
  withEventType(kind, [&droppable]<typename Event>(std::type_identity<Event>) {
    droppable = EventTraits<Event>::kLoss == EventLoss::kWhenBehind;
  });
  return droppable;
}

/// When an event begins, in nanoseconds since the start of the run's clock (RunClock). For an event
/// without a duration this is its time.
template <typename Event>
[[nodiscard]] constexpr std::int64_t beginNsOf(const Event& event) {
  if constexpr (requires { event.begin_ns(); }) {
    return event.begin_ns();
  } else {
    return event.time_ns();
  }
}
/// When an event ends, in nanoseconds since the start of the run's clock (RunClock). An event
/// without a duration ends when it begins. A span that is still open ends when it was last seen.
template <typename Event>
[[nodiscard]] constexpr std::int64_t endNsOf(const Event& event) {
  if constexpr (requires { event.duration_ns(); }) {
    return event.begin_ns() + event.duration_ns();
  } else if constexpr (requires { event.seen_ns(); }) {
    return event.seen_ns();
  } else {
    return event.time_ns();
  }
}

/// A struct with one Member<Event> for each kind of event: PerEventKind<EventVector> has the
/// members `steps`, `markers` and so on, each a vector. HIGHWATER_EVENT_KINDS lists them.
template <template <typename> class Member>
struct PerEventKind {
#define HIGHWATER_MEMBER(Event, member, field, loss, name) Member<events::Event> member{};
  HIGHWATER_EVENT_KINDS(HIGHWATER_MEMBER)
#undef HIGHWATER_MEMBER

  /// The member for the events of type Event: of<events::Marker>() is `markers`.
  template <typename Event>
  [[nodiscard]] Member<Event>& of() {
    return at(std::type_identity<Event>());
  }
  /// The member for the events of type Event: of<events::Marker>() is `markers`.
  template <typename Event>
  [[nodiscard]] const Member<Event>& of() const {
    return at(std::type_identity<Event>());
  }

  /// Calls f(member) for each kind of event, in the order of HIGHWATER_EVENT_KINDS.
  template <typename F>
  void forEachKind(F&& f) {
    forEachEventType([&]<typename Event>(std::type_identity<Event> type) { f(at(type)); });
  }
  /// Calls f(member) for each kind of event, in the order of HIGHWATER_EVENT_KINDS.
  template <typename F>
  void forEachKind(F&& f) const {
    forEachEventType([&]<typename Event>(std::type_identity<Event> type) { f(at(type)); });
  }

  /// The number of events of all kinds together. Only for members that are containers.
  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    forEachKind([&sum](const auto& events) { sum += events.size(); });
    return sum;
  }

 private:
#define HIGHWATER_AT(Event, member, field, loss, name)                       \
  Member<events::Event>& at(std::type_identity<events::Event>) {             \
    return member;                                                           \
  }                                                                          \
  const Member<events::Event>& at(std::type_identity<events::Event>) const { \
    return member;                                                           \
  }
  HIGHWATER_EVENT_KINDS(HIGHWATER_AT)
#undef HIGHWATER_AT
};

/// A vector of events, as the Member of PerEventKind, which needs a template with one parameter.
template <typename Event>
using EventVector = std::vector<Event>;
/// A read-only view of events, as the Member of PerEventKind, which needs a template with one
/// parameter.
template <typename Event>
using EventSpan = std::span<const Event>;

}  // namespace highwater
