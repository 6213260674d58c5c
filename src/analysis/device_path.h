#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// Where a step's work is: on the host, on the device, or in an op that fell back to the CPU.
struct PathPlace {
  enum class Kind : std::uint8_t { Host, Device, Fallback };
  Kind kind = Kind::Host;
  NameId op = kNoId;     ///< of a fallback
  bool resumed = false;  ///< the work goes on here, but nothing was moved to get here

  bool operator==(const PathPlace&) const = default;
};

/// The backend switches of one step, in the order of time.
///
/// The path begins on the host, with the batch, or on the device where the batch was there already:
/// nothing was copied to it and there is no device move. Each of these is a change:
///   - a copy to the device while the work is on the host. Copies that follow join the work that is
///     on the device (a batch's labels). A device move in which nobody waited, as with
///     non-blocking copies, is one as well.
///   - a fallback: two, to the CPU and back to the device.
///   - a read of values by the host, whatever asks for it (a copy to the host, a scalar, nonzero,
///     equal, unique...) while the work is on the device. The work itself does not come back from
///     there: what is queued next goes on with tensors that never left, so its going on is no
///     change.
/// A read while the host still holds what it read before is none. The host holds it until device
/// work follows: a copy to the device, a fallback, another phase than the read's, or, where ops
/// were recorded, an op on the device that does more than make a view. Without ops a step's changes
/// are therefore at least the number given: work between two reads of one phase is not seen.
///
/// What happens within a fallback or another crossing on the same thread is part of that one. Waits
/// that move no values (synchronize, an event's) change nothing, neither does what lies outside of
/// the step, an evaluation say.
///
/// So "host batch → mps forward → fallback op → mps classifier → host log" has 4 changes, of which
/// 2 are deliberate: the batch's move, and the loss read. The fallback's 2 are unplanned, or
/// accepted where the user accepted the op's CPU path.
struct StepPath {
  std::uint32_t step = 0;
  std::uint32_t changes = 0;
  /// Of `changes` those that the training loop means: see SyncPoint.deliberate. A fallback's never
  /// are.
  std::uint32_t deliberate = 0;
  /// Of `changes` those of fallbacks that the user accepted, as of now.
  std::uint32_t accepted = 0;
  std::vector<PathPlace> places;

  /// What nobody meant or accepted.
  [[nodiscard]] std::uint32_t unplanned() const { return changes - deliberate - accepted; }
};

/// Steps that went the same way.
struct PathKind {
  std::string chain;  ///< see pathText()
  std::uint32_t changes = 0;
  std::uint32_t deliberate = 0;
  std::uint32_t accepted = 0;
  std::uint64_t steps = 0;
  std::uint32_t firstStep = 0;
};

struct PathSummary {
  std::vector<StepPath> steps;  ///< those of which something was recorded: none at level off
  std::vector<PathKind> kinds;  ///< the most frequent first; of equals the earlier
  double changesP50 = 0;        ///< a step; 0 where there is none
  double deliberateP50 = 0;
  double acceptedP50 = 0;
  double unplannedP50 = 0;
};

/// "host → mps → cpu: aten::embedding_renorm_ → mps → host". An arrow is a change; "; mps" says
/// that the work goes on where it was. What repeats is written once, with its number.
[[nodiscard]] std::string pathText(const LiveStore& store, const std::vector<PathPlace>& places);

/// Empty for a device without a queue: the CPU.
[[nodiscard]] PathSummary summarizePaths(const LiveStore& store);

}  // namespace highwater::analysis
