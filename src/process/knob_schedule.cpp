#include "process/knob_schedule.h"

#include <optional>

namespace highwater::process {
namespace {

void replaceWith(std::optional<std::uint32_t>& value, const std::optional<std::uint32_t>& with) {
  if (with) value = with;
}

}  // namespace

void KnobSchedule::add(const SetKnobs& change) {
  SetKnobs& waiting = changes_[change.atStep];
  replaceWith(waiting.batchSize, change.batchSize);
  replaceWith(waiting.sequenceLength, change.sequenceLength);
  replaceWith(waiting.lossEvery, change.lossEvery);
  waiting.atStep = change.atStep;
}

std::vector<KnobChange> KnobSchedule::apply(std::uint32_t step, Knobs& knobs) {
  const Knobs before = knobs;
  while (!changes_.empty() && changes_.begin()->first <= step) {
    const SetKnobs change = changes_.begin()->second;
    knobs.batchSize = change.batchSize.value_or(knobs.batchSize);
    knobs.sequenceLength = change.sequenceLength.value_or(knobs.sequenceLength);
    knobs.lossEvery = change.lossEvery.value_or(knobs.lossEvery);
    changes_.erase(changes_.begin());
  }
  std::vector<KnobChange> changed;
  const auto compare = [&changed](events::MarkerKind kind, std::uint32_t from, std::uint32_t to) {
    if (from != to) changed.push_back({kind, from, to});
  };
  compare(events::MarkerKind::BatchSize, before.batchSize, knobs.batchSize);
  compare(events::MarkerKind::SequenceLength, before.sequenceLength, knobs.sequenceLength);
  compare(events::MarkerKind::LossInterval, before.lossEvery, knobs.lossEvery);
  return changed;
}

}  // namespace highwater::process
