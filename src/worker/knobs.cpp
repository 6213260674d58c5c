#include "worker/knobs.h"

#include <charconv>
#include <optional>
#include <string>

namespace highwater::worker {
namespace {

Result<void> checkRange(const std::optional<std::uint32_t>& value, std::uint32_t highest,
                        const char* what) {
  if (!value || (*value >= 1 && *value <= highest)) return {};
  return usageError(std::string(what) + " " + std::to_string(*value) +
                    " is out of range; allowed are 1 to " + std::to_string(highest));
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void replaceWith(std::optional<std::uint32_t>& value, const std::optional<std::uint32_t>& with) {
  if (with) value = with;
}

}  // namespace

Result<void> checkKnobs(const SetKnobs& change, const KnobLimits& limits) {
  if (!change.batchSize && !change.sequenceLength && !change.lossEvery) {
    return usageError("no knob is named");
  }
  if (auto r = checkRange(change.batchSize, limits.maxBatchSize, "batch size"); !r) return r;
  if (auto r = checkRange(change.sequenceLength, limits.maxSequenceLength, "sequence length"); !r) {
    return r;
  }
  return checkRange(change.lossEvery, kMostLossInterval, "loss interval");
}

Result<SetKnobs> parseKnobChange(std::string_view text) {
  const Error wrong = usageError("--set " + std::string(text) +
                                 " is not STEP:batch=N, STEP:seq=N or STEP:loss-every=N with whole "
                                 "numbers and a step of at least 1");
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.find('=');
  if (colon == std::string_view::npos || equals == std::string_view::npos || equals < colon) {
    return wrong;
  }
  const auto step = number(text.substr(0, colon));
  const auto value = number(text.substr(equals + 1));
  const std::string_view knob = text.substr(colon + 1, equals - colon - 1);
  if (!step || *step < 1 || !value) return wrong;

  SetKnobs change;
  change.atStep = *step;
  if (knob == "batch") {
    change.batchSize = value;
  } else if (knob == "seq") {
    change.sequenceLength = value;
  } else if (knob == "loss-every") {
    change.lossEvery = value;
  } else {
    return wrong;
  }
  return change;
}

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

}  // namespace highwater::worker
