#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// Where the work of a step happens: on the host, on the device, or in an op that fell back to the
/// CPU.
struct PathPlace {
  /// Where the work is: on the host, on the device, or in an op that falls back to the CPU.
  enum class Kind : std::uint8_t { Host, Device, Fallback };
  Kind kind = Kind::Host;
  NameId op = kNoId;     ///< of a fallback
  bool resumed = false;  ///< the work continues here, and nothing was moved to get here

  bool operator==(const PathPlace&) const = default;
};

/// The backend switches of one step: how often its work moved between the host, the device and the
/// CPU path of an op. `changes` is their number, `places` lists the places in order of time.
///
/// The path begins on the host, with the batch. It begins on the device if the batch was already
/// there: the step has no copy to the device and no device move. These are switches:
///   - A copy to the device while the work is on the host. Later copies, such as those of the
///     labels, join the work on the device. A device move without a wait (non-blocking copies)
///     counts as well.
///   - A fallback counts twice: to the CPU and back to the device.
///   - A read of values by the host while the work is on the device: a copy to the host, a scalar
///     read, nonzero, equal, unique and so on. Continuing on the device afterwards is not a switch,
///     because the tensors never left it.
/// A second read is not a switch as long as no device work came between. Device work is a copy to
/// the device, a fallback, a change of phase or, if ops were recorded, an op on the device that
/// does more than make a view. Without recorded ops the count is therefore a lower bound: work
/// between two reads in the same phase is not seen.
///
/// Events within a fallback or another switch on the same thread belong to it. Waits that move no
/// values (synchronize, event waits) and events outside of the step, such as an evaluation's, do
/// not count.
///
/// So "host batch → mps forward → fallback op → mps classifier → host log" has 4 switches. Two are
/// deliberate: the batch's move and the loss read. The two of the fallback are unplanned, or
/// accepted if the user accepted the op's CPU path.
struct StepPath {
  std::uint32_t step = 0;
  std::uint32_t changes = 0;
  /// Those of `changes` that the training loop intends: see SyncPoint.deliberate. Never a
  /// fallback's.
  std::uint32_t deliberate = 0;
  /// Those of `changes` that belong to fallbacks which the user has accepted.
  std::uint32_t accepted = 0;
  std::vector<PathPlace> places;

  /// The number of switches that are neither deliberate nor accepted by the user.
  [[nodiscard]] std::uint32_t unplanned() const { return changes - deliberate - accepted; }
};

/// One group of steps that took the same path between host, device and CPU, with the size of the
/// group. The counts of switches are per step.
struct PathKind {
  std::string chain;  ///< see pathText()
  std::uint32_t changes = 0;
  std::uint32_t deliberate = 0;
  std::uint32_t accepted = 0;
  std::uint64_t steps = 0;
  std::uint32_t firstStep = 0;
};

/// The backend switches of a run: the path of each step, equal paths in groups, and the median
/// number of switches per step.
struct PathSummary {
  std::vector<StepPath> steps;  ///< those with recorded events: none at level off
  std::vector<PathKind> kinds;  ///< most frequent first, then by first step
  double changesP50 = 0;        ///< medians of the steps; 0 without steps
  double deliberateP50 = 0;
  double acceptedP50 = 0;
  double unplannedP50 = 0;
};

/// Writes a path of backend switches as text: "host → mps → cpu: aten::embedding_renorm_ → mps →
/// host". An arrow is a switch; "; mps" says that the work continues there. Repeated parts are
/// written once, with their count.
[[nodiscard]] std::string pathText(const LiveStore& store, const std::vector<PathPlace>& places);

/// Finds the backend switches (see StepPath) of all steps in the store. Empty for a run on the CPU,
/// which has no queue of device work.
[[nodiscard]] PathSummary summarizePaths(const LiveStore& store);

}  // namespace highwater::analysis
