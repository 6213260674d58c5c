#pragma once

#include <QString>
#include <cstdint>
#include <optional>

#include "core/events_generated.h"

namespace highwater::views {

/// The lanes of the timeline. laneKind() describes each.
enum class Lane : std::uint8_t {
  kSteps,
  kPhases,
  kSyncPoints,
  kFallbacks,
  kMarkers,
  kOps,
  kDevice,
  kNamed
};

/// One event: its lane and its index in the store's vector of that kind (for an op its row, for a
/// device span the row of its step). In the marker lane the index one past the last marker is the
/// end of the run; see endMark().
struct EventRef {
  Lane lane = Lane::kSteps;
  std::uint32_t index = 0;

  bool operator==(const EventRef&) const = default;
};

/// All events of one op at one place in one lane, as one row of a table counts them. For ops
/// `where` is empty: a row counts all calls of the op.
struct OpRef {
  Lane lane = Lane::kFallbacks;
  QString op;     ///< "aten::embedding_renorm_"
  QString where;  ///< as in analysis::OpTotal
  /// What made the op wait, for sync points: one op may copy to the device and to the host.
  events::SyncKind kind = events::SyncKind::None;
  /// Whether the training loop intends them, for sync points; std::nullopt: both kinds.
  std::optional<bool> planned{};

  bool operator==(const OpRef&) const = default;
};

}  // namespace highwater::views
