#include "process/knob_schedule.h"

#include <algorithm>
#include <cmath>

#include "core/knobs.h"

namespace highwater::process {
namespace {

/// Adds the requests of `from` to those of `to`, where they replace earlier ones.
void addRequests(const SetKnobs& from, SetKnobs& to) {
  for (const Knob& each : allKnobs()) {
    if (const auto value = each.requested(from)) each.request(to, *value);
  }
}

/// `product` divided by `by`, as the nearest whole number from 1 to `most`.
std::uint32_t nearestFactor(double product, std::uint32_t by, std::uint32_t most) {
  const double factor = std::round(product / std::max(by, 1u));
  return static_cast<std::uint32_t>(std::clamp(factor, 1.0, static_cast<double>(most)));
}

}  // namespace

void KnobSchedule::add(const SetKnobs& change) {
  SetKnobs& waiting = changes_[change.atStep];
  addRequests(change, waiting);
  waiting.atStep = change.atStep;
}

std::vector<KnobChange> KnobSchedule::apply(std::uint32_t step, Knobs& knobs) {
  const Knobs before = knobs;
  SetKnobs requested;
  while (!changes_.empty() && changes_.begin()->first <= step) {
    addRequests(changes_.begin()->second, requested);
    changes_.erase(changes_.begin());
  }
  for (const Knob& each : allKnobs()) {
    if (const auto value = each.requested(requested)) each.put(knobs, *value);
  }
  keepEffective(requested, before, knobs);
  std::vector<KnobChange> changed;
  for (const Knob& each : allKnobs()) {
    const double from = each.value(before), to = each.value(knobs);
    if (from != to) changed.push_back({each.kind, from, to});
  }
  return changed;
}

void KnobSchedule::keepEffective(const SetKnobs& requested, const Knobs& before, Knobs& knobs) {
  if (!knobs.keepEffectiveBatch) {
    effective_ = 0;
    return;
  }
  // Kept apart from the knobs: their product is rounded, and would drift with each change.
  if (effective_ == 0) effective_ = static_cast<double>(before.batchSize) * before.accumulation;
  if (requested.batchSize && requested.accumulation) {
    effective_ = static_cast<double>(knobs.batchSize) * knobs.accumulation;
  } else if (requested.batchSize) {
    knobs.accumulation = nearestFactor(effective_, knobs.batchSize, kMostAccumulation);
  } else if (requested.accumulation) {
    knobs.batchSize = nearestFactor(effective_, knobs.accumulation, kMostBatchSize);
  }
}

}  // namespace highwater::process
