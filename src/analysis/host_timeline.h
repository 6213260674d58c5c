#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// What the host does while it does not wait for the device.
enum class HostWork : std::uint8_t {
  BatchAssembly,
  DeviceMove,
  Queueing,  ///< in forward, backward or the optimizer's step
  Reading,   ///< in the loss read, beside its waits: logging, as a rule
  Fallback,  ///< the CPU's part of a fallback
  InStep,    ///< in a step, but in none of its phases
  Evaluation,
  BetweenSteps
};

struct HostSpan {
  std::int64_t beginNs = 0, endNs = 0;
  HostWork work = HostWork::InStep;
  events::Phase phase = events::Phase::None;
  std::size_t row = 0;  ///< of the step that it lies in or behind

  [[nodiscard]] std::int64_t ns() const { return endNs - beginNs; }
};

/// A wait at whose end the device has done all that was queued: every blocking copy, read or
/// synchronize() drains the one queue there is. Only an event's wait does not.
struct Drain {
  std::int64_t beginNs = 0, endNs = 0;
  bool readsValues = false;  ///< something was queued before it, to be read

  [[nodiscard]] std::int64_t ns() const { return endNs - beginNs; }
};

/// From one drain to the next: the device begins with nothing to do.
struct Stretch {
  const Drain& opening;
  const Drain& closing;
  std::span<const HostSpan> work;  ///< in between, in order of time
};

/// The host's time from the first step's begin to the end of the last step or wait, on one line:
/// backward's thread works while the training thread stands in it. Neither spans nor drains
/// overlap.
struct HostTimeline {
  std::vector<HostSpan> work;
  std::vector<Drain> drains;

  /// Calls f(stretch) for each, in order of time.
  template <typename F>
  void forEachStretch(F&& f) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < drains.size(); ++i) {
      while (next < work.size() && work[next].beginNs < drains[i].endNs) ++next;
      const std::size_t first = next;
      while (next < work.size() && work[next].beginNs < drains[i + 1].beginNs) ++next;
      f(Stretch{drains[i], drains[i + 1], std::span(work).subspan(first, next - first)});
    }
  }
};

/// A wait that is no longer than this may have found the queue empty: committing an empty command
/// buffer and being told of its end takes some tenths of a ms.
inline constexpr std::int64_t kNearZeroWaitNs = 500'000;

[[nodiscard]] HostTimeline makeHostTimeline(const LiveStore& store);

/// When the device had done what was queued in a stretch.
class DeviceEnds {
 public:
  DeviceEnds(const LiveStore& store, const HostTimeline& timeline);

  /// `last`: the last span of the stretch in which the host queued. Known by the step's device span
  /// where the stretch holds the step's end: the span begins where the batch was on the device, if
  /// that waited for it. Else by the wait, if it was not near zero, or if nothing came between it
  /// and `last`. Nothing otherwise: it was some time from the end of `last` on.
  [[nodiscard]] std::optional<std::int64_t> of(const Stretch& stretch, const HostSpan& last) const;

 private:
  struct Step {
    std::int64_t endNs = 0;      ///< of the host's part
    std::int64_t deviceNs = -1;  ///< when the device had done it; -1: not known
  };
  std::vector<Step> steps_;
};

}  // namespace highwater::analysis
