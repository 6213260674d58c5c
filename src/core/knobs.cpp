#include "core/knobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <locale>
#include <optional>
#include <sstream>
#include <string>

#include "core/option_values.h"

namespace highwater {
namespace {

struct KnobField {
  std::string_view key;   ///< in --set
  std::string_view name;  ///< in messages
  std::optional<std::uint32_t> SetKnobs::*value;
  std::uint32_t KnobLimits::*most;
};
constexpr std::array kFields = {
    KnobField{"batch", "batch size", &SetKnobs::batchSize, &KnobLimits::batchSize},
    KnobField{"seq", "sequence length", &SetKnobs::sequenceLength, &KnobLimits::sequenceLength},
    KnobField{"loss-every", "loss interval", &SetKnobs::lossEvery, &KnobLimits::lossEvery},
};

/// Reads one "KNOB=VALUE" of `whole`, the value of --set.
Result<void> readPart(const std::string& whole, std::string_view part, const KnobLimits& limits,
                      SetKnobs& change) {
  const auto equals = std::min(part.find('='), part.size());
  const std::string key(part.substr(0, equals));
  const std::string_view value = part.substr(std::min(equals + 1, part.size()));
  const auto field = std::find_if(kFields.begin(), kFields.end(),
                                  [&](const KnobField& each) { return each.key == key; });
  if (field == kFields.end()) {
    return usageError("--set " + whole + " names \"" + key +
                      "\"; a run has the knobs batch, seq and loss-every");
  }
  auto number =
      parseWhole<std::uint32_t>(key + " of --set " + whole, value, 1u, limits.*field->most);
  if (!number) return number.error();
  if (change.*field->value) return usageError("--set " + whole + " changes " + key + " twice");
  change.*field->value = *number;
  return {};
}

}  // namespace

Result<void> checkKnobs(const SetKnobs& change, const KnobLimits& limits) {
  bool setsOne = false;
  for (const KnobField& field : kFields) {
    const auto& value = change.*field.value;
    if (!value) continue;
    setsOne = true;
    const std::uint32_t most = limits.*field.most;
    if (*value >= 1 && *value <= most) continue;
    return usageError(std::string(field.name) + " " + std::to_string(*value) +
                      " is out of range; allowed are 1 to " + std::to_string(most));
  }
  return setsOne ? Result<void>() : usageError("the change sets no knob");
}

bool isValueOf(const ScriptKnob& knob, double value) {
  // Beyond 2^53 a double skips integers.
  constexpr double kLargest = 9'007'199'254'740'992.0;
  if (!std::isfinite(value)) return false;
  if (knob.kind == ScriptKnob::Kind::kChoice) {
    return value >= 0 && value < static_cast<double>(knob.choices.size()) &&
           value == std::floor(value);
  }
  const bool isWhole = value == std::floor(value) && std::abs(value) <= kLargest;
  if (knob.kind == ScriptKnob::Kind::kInteger && !isWhole) return false;
  return value >= knob.minimum && value <= knob.maximum;
}

std::string valueText(const ScriptKnob& knob, double value) {
  if (!isValueOf(knob, value)) return std::to_string(value);
  if (knob.kind == ScriptKnob::Kind::kChoice) return knob.choices[static_cast<std::size_t>(value)];
  if (knob.kind == ScriptKnob::Kind::kInteger) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(6) << value;
  return text.str();
}

std::string allowedText(const ScriptKnob& knob) {
  std::string text;
  if (knob.kind == ScriptKnob::Kind::kChoice) {
    for (const std::string& choice : knob.choices) text += (text.empty() ? "" : ", ") + choice;
    return text;
  }
  text = knob.kind == ScriptKnob::Kind::kInteger ? "whole numbers" : "numbers";
  const bool hasLeast = std::isfinite(knob.minimum), hasMost = std::isfinite(knob.maximum);
  if (hasLeast && hasMost) {
    return text + " from " + valueText(knob, knob.minimum) + " to " + valueText(knob, knob.maximum);
  }
  if (hasLeast) return text + " from " + valueText(knob, knob.minimum);
  return hasMost ? text + " up to " + valueText(knob, knob.maximum) : text;
}

Result<SetKnobs> parseKnobChange(std::string_view text, const KnobLimits& limits) {
  const std::string whole = shortened(text);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.find('=') == std::string_view::npos) {
    return refusedValue("--set", text, "STEP:KNOB=VALUE, for example 20:batch=32");
  }
  SetKnobs change;
  auto step = parseWhole<std::uint32_t>("the step of --set " + whole, text.substr(0, colon), 1u,
                                        kMostRunSteps);
  if (!step) return step.error();
  change.atStep = *step;
  if (text.ends_with(',')) return refusedValue("--set", text, "a KNOB=VALUE after the last comma");
  for (std::string_view parts = text.substr(colon + 1);;) {
    const auto comma = parts.find(',');
    if (auto done = readPart(whole, parts.substr(0, comma), limits, change); !done) {
      return done.error();
    }
    if (comma == std::string_view::npos) return change;
    parts.remove_prefix(comma + 1);
  }
}

}  // namespace highwater
