#include "run/tried_knob.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/knobs.h"
#include "core/option_values.h"
#include "run/script_setting.h"

namespace highwater::run {
namespace {

Error refusedSize(const std::string& knob) {
  return failure(knob +
                 " changes what a step needs of memory: a sweep finds its best value within "
                 "the limit (highwater sweep)");
}

/// The number of a script's knob that a text stands for.
std::optional<double> valueOf(const ScriptKnob& knob, const std::string& text) {
  if (knob.kind == ScriptKnob::Kind::kChoice) {
    const auto found = std::find(knob.choices.begin(), knob.choices.end(), text);
    if (found == knob.choices.end()) return std::nullopt;
    return static_cast<double>(found - knob.choices.begin());
  }
  const bool isNegative = text.starts_with('-');
  const auto number = parseReal(knob.name, std::string_view(text).substr(isNegative ? 1 : 0), 0,
                                std::numeric_limits<double>::max());
  if (!number) return std::nullopt;
  const double value = isNegative ? -*number : *number;
  return isValueOf(knob, value) ? std::optional(value) : std::nullopt;
}

/// Whether a knob of the script can be tried: the factor of the learning rates changes no step's
/// time.
bool canBeTried(const ScriptKnob& knob) {
  return !ScriptSetting::isUsualBatchKnob(knob.name) && knob.name != kLearningRateKnob;
}

/// The knobs of the workload that change how long a step takes, and not what it needs of memory.
constexpr std::array kTriedKinds{events::MarkerKind::LossInterval, events::MarkerKind::Accumulation,
                                 events::MarkerKind::Precision};

/// A name that is none of `all`: "...; to be tried there is accumulate, precision".
Error refusedName(const std::string& what, const std::vector<KnobToTry>& all) {
  std::string names;
  for (const KnobToTry& each : all) names += (names.empty() ? "" : ", ") + each.name;
  return usageError(what + (names.empty() ? "; there is none to try (highwater.knob)"
                                          : "; to be tried there is " + names));
}

Result<TriedKnob> ofScript(const analysis::LiveStore& store, const std::string& name,
                           const std::string& text) {
  const ScriptKnob* const found = store.scriptKnob(name);
  if (ScriptSetting::isUsualBatchKnob(name)) return refusedSize(name);
  if (!found) {
    return refusedName("the script has no knob \"" + name + '"', knobsToTry(store));
  }
  if (!canBeTried(*found)) return failure(name + " does not change how long a step takes");
  const auto value = valueOf(*found, text);
  if (!value) {
    const bool isChoice = found->kind == ScriptKnob::Kind::kChoice;
    return refusedValue("the value", text, (isChoice ? "one of " : "") + allowedText(*found));
  }
  return TriedKnob{found->value, *value, valueText(*found, *value)};
}

Result<TriedKnob> ofWorkload(const analysis::LiveStore& store, const std::string& key,
                             const std::string& text) {
  auto value = workloadValueOf(key, text);
  if (!value) return value.error();
  const Knob& knob = *knobOf(key);
  if (knob.kind == events::MarkerKind::Accumulation && store.knobs().keepEffectiveBatch) {
    return failure("with keep-effective another accumulation changes the batch too");
  }
  return TriedKnob{knob.value(store.knobs()), *value, knobText(knob, *value)};
}

}  // namespace

Result<double> workloadValueOf(const std::string& key, const std::string& text) {
  const Knob* const knob = knobOf(key);
  const bool isSize = knob && (knob->kind == events::MarkerKind::BatchSize ||
                               knob->kind == events::MarkerKind::SequenceLength);
  if (isSize) return refusedSize(std::string(knob->name));
  if (!knob || std::find(kTriedKinds.begin(), kTriedKinds.end(), knob->kind) == kTriedKinds.end()) {
    std::vector<KnobToTry> all;
    for (const events::MarkerKind kind : kTriedKinds)
      all.push_back({std::string(knobOf(kind)->key), {}, {}});
    return refusedName('"' + key + "\" is no knob to try", all);
  }
  return parseKnobValue(*knob, key, text);
}

std::vector<KnobToTry> knobsToTry(const analysis::LiveStore& store) {
  std::vector<KnobToTry> all;
  if (!store.ownScript()) {
    for (const events::MarkerKind kind : kTriedKinds) {
      const Knob& knob = *knobOf(kind);
      all.push_back({std::string(knob.key), knobText(knob, knob.value(store.knobs())), {}});
    }
    for (const Precision each : {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16}) {
      const std::string name(precisionName(each));
      if (name != all.back().now) all.back().others.push_back(name);
    }
    return all;
  }
  for (const ScriptKnob& each : store.scriptKnobs()) {
    if (!canBeTried(each)) continue;
    KnobToTry knob{each.name, valueText(each, each.value), each.choices};
    std::erase(knob.others, knob.now);
    all.push_back(std::move(knob));
  }
  return all;
}

Result<TriedKnob> triedKnobOf(const analysis::LiveStore& store, const std::string& knob,
                              const std::string& value) {
  auto tried = store.ownScript() ? ofScript(store, knob, value) : ofWorkload(store, knob, value);
  if (tried && tried->before == tried->value) {
    return usageError(knob + " is " + tried->text + " already: try another value");
  }
  return tried;
}

}  // namespace highwater::run
