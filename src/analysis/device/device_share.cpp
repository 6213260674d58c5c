#include "analysis/device/device_share.h"

#include <algorithm>

#include "analysis/device/phase_execution.h"
#include "analysis/whole_steps.h"
#include "core/units.h"

namespace highwater::analysis {

DeviceShare deviceShareIn(const LiveStore& store, const TimeRange& range) {
  DeviceShare share;
  const SpanIndex& lane = store.steps().lane;
  if (!store.hasQueue()) {
    share.unknown = "The CPU has no queue: the host runs the ops itself";
    return share;
  }
  auto [first, last] = wholeStepsIn(store, range);
  if (last > first && last == lane.size()) --last;  // has no next step
  const DeviceTimeline& device = store.deviceTimeline();
  // What the device does is known up to the last wait only.
  while (last > first && lane[last].beginNs > device.endNs()) --last;
  while (first < last && lane[first].beginNs < device.beginNs()) ++first;
  if (last - first > DeviceShare::kMostSteps) first = last - DeviceShare::kMostSteps;
  if (first >= last) {
    share.unknown = "No step here between two waits that show what the device did";
    return share;
  }
  share.steps = last - first;
  const double count = static_cast<double>(share.steps);
  share.stepMs = toMs(lane[last].beginNs - lane[first].beginNs) / count;
  const double busyMs =
      share.stepMs * device.busyShare(lane[first].beginNs, lane[last].beginNs).value_or(0);
  share.idleMs = share.stepMs - busyMs;
  double known = 0;
  for (const PhaseExecution& phase : summarizeExecution(store, first, last).phases) {
    if (!phase.lowMs || !phase.highMs) continue;
    const double high = std::min(*phase.highMs, busyMs), low = std::min(*phase.lowMs, high);
    share.parts.push_back({phase.phases, low, (low + high) / 2, high});
    known += share.parts.back().ms;
  }
  // The middles of the bounds together may be more than the device was busy.
  if (known > busyMs && known > 0) {
    for (DevicePart& part : share.parts) {
      part.ms *= busyMs / known;
      part.lowMs = std::min(part.lowMs, part.ms);
    }
    known = busyMs;
  }
  share.restMs = busyMs - known;
  return share;
}

}  // namespace highwater::analysis
