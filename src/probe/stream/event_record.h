#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/event_kinds.h"

namespace highwater::probe {

/// Size of the largest event type, in bytes.
inline constexpr std::size_t kLargestEventBytes = [] {
  std::size_t largest = 0;
  forEachEventType([&largest]<typename Event>(std::type_identity<Event>) {
    largest = std::max(largest, sizeof(Event));
  });
  return largest;
}();

/// Holds a copy of one event of any kind, so that a ring can store all kinds.
class EventRecord {
 public:
  EventRecord() = default;
  /// Copies `event`, which has one of the event types of the protocol.
  template <typename Event>
  explicit EventRecord(const Event& event) : kind_(EventTraits<Event>::kKind) {
    static_assert(std::is_trivially_copyable_v<Event>);
    std::memcpy(bytes_.data(), &event, sizeof(Event));
  }

  [[nodiscard]] events::EventKind kind() const { return kind_; }

  /// Calls f(event) with a copy of the event in its own type. Does not call it for an empty record.
  template <typename F>
  void visit(F&& f) const {
    withEventType(kind_, [&]<typename Event>(std::type_identity<Event>) {
      Event event;
      std::memcpy(&event, bytes_.data(), sizeof(Event));
      f(event);
    });
  }

 private:
  alignas(8) std::array<std::byte, kLargestEventBytes> bytes_{};
  events::EventKind kind_ = events::EventKind::None;
};

}  // namespace highwater::probe
