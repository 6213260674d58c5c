#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/events_generated.h"

namespace highwater::probe {

template <typename T>
struct EventKindOf;
// clang-format off
template <> struct EventKindOf<events::MemorySample> { static constexpr auto kValue = events::EventKind::MemorySample; };
template <> struct EventKindOf<events::SystemSample> { static constexpr auto kValue = events::EventKind::SystemSample; };
template <> struct EventKindOf<events::StepRecord> { static constexpr auto kValue = events::EventKind::StepRecord; };
template <> struct EventKindOf<events::PhaseSpan> { static constexpr auto kValue = events::EventKind::PhaseSpan; };
template <> struct EventKindOf<events::SyncPoint> { static constexpr auto kValue = events::EventKind::SyncPoint; };
template <> struct EventKindOf<events::FallbackEvent> { static constexpr auto kValue = events::EventKind::FallbackEvent; };
template <> struct EventKindOf<events::Marker> { static constexpr auto kValue = events::EventKind::Marker; };
template <> struct EventKindOf<events::Evaluation> { static constexpr auto kValue = events::EventKind::Evaluation; };
template <> struct EventKindOf<events::DeviceSpan> { static constexpr auto kValue = events::EventKind::DeviceSpan; };
template <> struct EventKindOf<events::OpSpan> { static constexpr auto kValue = events::EventKind::OpSpan; };
template <> struct EventKindOf<events::PhaseMemory> { static constexpr auto kValue = events::EventKind::PhaseMemory; };
// clang-format on

inline constexpr std::size_t kEventKinds = static_cast<std::size_t>(events::EventKind::MAX) + 1;

/// What must never be dropped. The rest may be, and is then counted.
[[nodiscard]] constexpr bool isVital(events::EventKind kind) {
  switch (kind) {
    case events::EventKind::StepRecord:
    case events::EventKind::PhaseSpan:
    case events::EventKind::SyncPoint:
    case events::EventKind::FallbackEvent:
    case events::EventKind::Marker:
    case events::EventKind::Evaluation:
    case events::EventKind::DeviceSpan:
    case events::EventKind::PhaseMemory:
      return true;
    default:
      return false;
  }
}

/// Any one event, as a ring holds it.
class EventRecord {
 public:
  EventRecord() = default;
  template <typename T>
  explicit EventRecord(const T& event) : kind_(EventKindOf<T>::kValue) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kBytes);
    std::memcpy(bytes_.data(), &event, sizeof(T));
  }

  [[nodiscard]] events::EventKind kind() const { return kind_; }

  /// Calls f(event) with the event's own type.
  template <typename F>
  void visit(F&& f) const {
    switch (kind_) {
      case events::EventKind::MemorySample:
        return f(as<events::MemorySample>());
      case events::EventKind::SystemSample:
        return f(as<events::SystemSample>());
      case events::EventKind::StepRecord:
        return f(as<events::StepRecord>());
      case events::EventKind::PhaseSpan:
        return f(as<events::PhaseSpan>());
      case events::EventKind::SyncPoint:
        return f(as<events::SyncPoint>());
      case events::EventKind::FallbackEvent:
        return f(as<events::FallbackEvent>());
      case events::EventKind::Marker:
        return f(as<events::Marker>());
      case events::EventKind::Evaluation:
        return f(as<events::Evaluation>());
      case events::EventKind::DeviceSpan:
        return f(as<events::DeviceSpan>());
      case events::EventKind::OpSpan:
        return f(as<events::OpSpan>());
      case events::EventKind::PhaseMemory:
        return f(as<events::PhaseMemory>());
      default:
        return;
    }
  }

 private:
  static constexpr std::size_t kBytes =
      std::max({sizeof(events::StepRecord), sizeof(events::FallbackEvent),
                sizeof(events::SyncPoint), sizeof(events::Marker), sizeof(events::MemorySample),
                sizeof(events::SystemSample), sizeof(events::Evaluation), sizeof(events::PhaseSpan),
                sizeof(events::DeviceSpan), sizeof(events::OpSpan), sizeof(events::PhaseMemory)});

  template <typename T>
  [[nodiscard]] T as() const {
    T event;
    std::memcpy(&event, bytes_.data(), sizeof(T));
    return event;
  }

  alignas(8) std::array<std::byte, kBytes> bytes_{};
  events::EventKind kind_ = events::EventKind::None;
};

}  // namespace highwater::probe
