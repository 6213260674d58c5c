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
#include <type_traits>
#include <utility>
#include <vector>

#include "core/option_values.h"

namespace highwater {
namespace {

constexpr std::array<std::string_view, 4> kPrecisions = {"unknown", "float32", "bfloat16",
                                                         "float16"};
constexpr std::array<std::string_view, 4> kPolicies = {"unknown", "stop", "retry", "halve"};
constexpr std::array<std::string_view, 2> kSwitch = {"off", "on"};

/// A Knob whose values are the member `inKnobs` of Knobs and `inChange` of SetKnobs.
template <auto inKnobs, auto inChange>
constexpr Knob knob(events::MarkerKind kind, std::string_view key, std::string_view name) {
  using T = std::remove_cvref_t<decltype(std::declval<Knobs>().*inKnobs)>;
  return {kind,
          key,
          name,
          [](const Knobs& knobs) { return static_cast<double>(knobs.*inKnobs); },
          [](Knobs& knobs, double value) { knobs.*inKnobs = static_cast<T>(value); },
          [](const SetKnobs& change) -> std::optional<double> {
            const auto& value = change.*inChange;
            return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
          },
          [](SetKnobs& change, double value) { change.*inChange = static_cast<T>(value); }};
}

using Kind = events::MarkerKind;

constexpr std::array kKnobs = {
    knob<&Knobs::batchSize, &SetKnobs::batchSize>(Kind::BatchSize, "batch", "batch size"),
    knob<&Knobs::sequenceLength, &SetKnobs::sequenceLength>(Kind::SequenceLength, "seq",
                                                            "sequence length"),
    knob<&Knobs::lossEvery, &SetKnobs::lossEvery>(Kind::LossInterval, "loss-every",
                                                  "loss interval"),
    knob<&Knobs::learningRate, &SetKnobs::learningRate>(Kind::LearningRate, "lr", "learning rate"),
    knob<&Knobs::accumulation, &SetKnobs::accumulation>(Kind::Accumulation, "accumulate",
                                                        "gradient accumulation"),
    knob<&Knobs::keepEffectiveBatch, &SetKnobs::keepEffectiveBatch>(
        Kind::KeepEffectiveBatch, "keep-effective", "keep effective batch"),
    knob<&Knobs::precision, &SetKnobs::precision>(Kind::Precision, "precision", "precision"),
    knob<&Knobs::memoryFraction, &SetKnobs::memoryFraction>(Kind::MemoryFraction, "memory-fraction",
                                                            "memory fraction"),
    knob<&Knobs::outOfMemory, &SetKnobs::outOfMemory>(Kind::OutOfMemoryPolicy, "on-out-of-memory",
                                                      "policy for out of memory")};

/// The words of a knob whose values have names, else none. They begin with the one of value 0.
std::span<const std::string_view> wordsOf(const Knob& knob) {
  switch (knob.kind) {
    case Kind::Precision:
      return kPrecisions;
    case Kind::OutOfMemoryPolicy:
      return kPolicies;
    case Kind::KeepEffectiveBatch:
      return kSwitch;
    default:
      return {};
  }
}

/// The bounds of a knob whose values are numbers.
struct Bounds {
  double least = 1, most = 1;
  bool whole = true;
};
Bounds boundsOf(const Knob& knob, const KnobLimits& limits) {
  switch (knob.kind) {
    case Kind::SequenceLength:
      return {1, static_cast<double>(limits.sequenceLength)};
    case Kind::LossInterval:
      return {1, static_cast<double>(limits.lossEvery)};
    case Kind::Accumulation:
      return {1, static_cast<double>(limits.accumulation)};
    case Kind::LearningRate:
      return {kLeastLearningRate, kMostLearningRate, false};
    case Kind::MemoryFraction:
      return {kLeastMemoryFraction, kMostMemoryFraction, false};
    default:
      return {1, static_cast<double>(limits.batchSize)};
  }
}

/// Whole numbers without an exponent, others with six digits.
std::string realText(double value) {
  const bool isWhole = value == std::floor(value) && std::abs(value) < 1e15;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(isWhole ? 15 : 6) << value;
  return text.str();
}

/// The index of `word` in `words`, at least `first`; nullopt if it is not there.
std::optional<std::size_t> indexOf(std::span<const std::string_view> words, std::string_view word,
                                   std::size_t first) {
  const auto found =
      std::find(words.begin() + static_cast<std::ptrdiff_t>(first), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

/// The first word that a user may write: 0 is "unknown", except for a switch.
std::size_t firstWord(const Knob& knob) {
  return knob.kind == Kind::KeepEffectiveBatch ? 0 : 1;
}

/// Reads the value of a knob, which the message calls `name`.
Result<double> readValue(const Knob& knob, const std::string& name, std::string_view text,
                         const KnobLimits& limits) {
  const auto words = wordsOf(knob);
  if (!words.empty()) {
    const auto allowed = words.subspan(firstWord(knob));
    if (auto known = checkChoice(name, text, allowed); !known) return known.error();
    return static_cast<double>(*indexOf(words, text, firstWord(knob)));
  }
  const Bounds bounds = boundsOf(knob, limits);
  if (!bounds.whole) return parseReal(name, text, bounds.least, bounds.most);
  auto number = parseWhole<std::uint32_t>(name, text, 1u, static_cast<std::uint32_t>(bounds.most));
  if (!number) return number.error();
  return static_cast<double>(*number);
}

/// Reads one "KNOB=VALUE" of `whole`, the value of --set.
Result<void> readPart(const std::string& whole, std::string_view part, const KnobLimits& limits,
                      SetKnobs& change) {
  const auto equals = std::min(part.find('='), part.size());
  const std::string key(part.substr(0, equals));
  const std::string_view value = part.substr(std::min(equals + 1, part.size()));
  const Knob* found = knobOf(key);
  if (!found) {
    return usageError("--set " + whole + " names \"" + key + "\"; a run has the knobs " +
                      knobKeys());
  }
  const auto number = readValue(*found, key + " of --set " + whole, value, limits);
  if (!number) return number.error();
  if (auto fine = checkKnobValue(*found, *number, limits); !fine) {
    return usageError("--set " + whole + ": " + fine.error().message);
  }
  if (found->requested(change)) return usageError("--set " + whole + " changes " + key + " twice");
  found->request(change, *number);
  return {};
}

}  // namespace

std::span<const Knob> allKnobs() {
  return kKnobs;
}

const Knob* knobOf(events::MarkerKind kind) {
  const auto found = std::find_if(kKnobs.begin(), kKnobs.end(),
                                  [kind](const Knob& each) { return each.kind == kind; });
  return found == kKnobs.end() ? nullptr : &*found;
}

const Knob* knobOf(std::string_view key) {
  const auto found =
      std::find_if(kKnobs.begin(), kKnobs.end(), [&](const Knob& each) { return each.key == key; });
  return found == kKnobs.end() ? nullptr : &*found;
}

std::string knobKeys() {
  std::vector<std::string> keys;
  for (const Knob& each : kKnobs) keys.emplace_back(each.key);
  std::string text = alternatives(keys);
  if (const auto at = text.rfind(" or "); at != std::string::npos) text.replace(at, 4, " and ");
  return text;
}

Result<double> parseKnobValue(const Knob& knob, const std::string& name, std::string_view text,
                              const KnobLimits& limits) {
  auto number = readValue(knob, name, text, limits);
  if (!number) return number;
  if (auto fine = checkKnobValue(knob, *number, limits); !fine) return fine.error();
  return number;
}

std::string knobText(const Knob& knob, double value) {
  const auto words = wordsOf(knob);
  if (!words.empty() && value >= 0 && value < static_cast<double>(words.size())) {
    return std::string(words[static_cast<std::size_t>(value)]);
  }
  // A recording may claim any value.
  constexpr double kMostPlausible = 1e15;
  return std::isfinite(value) && std::abs(value) < kMostPlausible ? realText(value) : "?";
}

std::string knobChangeText(const Knob& knob, double before, double after) {
  std::string_view what = knob.name;
  switch (knob.kind) {
    case Kind::BatchSize:
      what = "batch";
      break;
    case Kind::SequenceLength:
      what = "sequence";
      break;
    case Kind::LossInterval:
      what = "loss every";
      break;
    case Kind::Accumulation:
      what = "accumulate";
      break;
    case Kind::OutOfMemoryPolicy:
      what = "on out of memory";
      break;
    default:
      break;
  }
  return std::string(what) + ' ' + knobText(knob, before) + " \u2192 " + knobText(knob, after);
}

std::string_view precisionName(Precision precision) {
  const auto index = static_cast<std::size_t>(precision);
  return kPrecisions[index < kPrecisions.size() ? index : 0];
}
Precision precisionFromName(std::string_view name) {
  return static_cast<Precision>(indexOf(kPrecisions, name, 1).value_or(0));
}
std::string_view policyName(OutOfMemoryPolicy policy) {
  const auto index = static_cast<std::size_t>(policy);
  return kPolicies[index < kPolicies.size() ? index : 0];
}
OutOfMemoryPolicy policyFromName(std::string_view name) {
  return static_cast<OutOfMemoryPolicy>(indexOf(kPolicies, name, 1).value_or(0));
}

Result<void> checkKnobValue(const Knob& knob, double value, const KnobLimits& limits) {
  const auto words = wordsOf(knob);
  if (!words.empty()) {
    const bool known = value >= static_cast<double>(firstWord(knob)) &&
                       value < static_cast<double>(words.size()) && value == std::floor(value);
    if (!known) {
      return usageError(std::string(knob.name) + ' ' + realText(value) + " is not known here");
    }
    if (knob.kind != Kind::Precision) return {};
    const auto precision = static_cast<Precision>(value);
    const std::string& lacks = precision == Precision::kBFloat16  ? limits.noBFloat16
                               : precision == Precision::kFloat16 ? limits.noFloat16
                                                                  : std::string();
    if (lacks.empty()) return {};
    return usageError("precision " + std::string(precisionName(precision)) +
                      " is not possible: " + lacks);
  }
  if (knob.kind == Kind::MemoryFraction) {
    if (!limits.noMemoryFraction.empty()) {
      return usageError("a memory fraction is not possible: " + limits.noMemoryFraction);
    }
    if (value == 0) {
      return usageError(
          "memory fraction 0 would lift the limit, which may bring the system down; it is allowed "
          "only before the run, as --high-watermark 0");
    }
  }
  const Bounds bounds = boundsOf(knob, limits);
  const bool fits = value >= bounds.least && value <= bounds.most &&
                    (!bounds.whole || value == std::floor(value));
  if (fits) return {};
  return usageError(std::string(knob.name) + " " + realText(value) +
                    " is out of range; allowed are " + realText(bounds.least) + " to " +
                    realText(bounds.most));
}

Result<void> checkKnobs(const SetKnobs& change, const KnobLimits& limits) {
  bool setsOne = false;
  for (const Knob& each : kKnobs) {
    const auto value = each.requested(change);
    if (!value) continue;
    setsOne = true;
    if (auto fine = checkKnobValue(each, *value, limits); !fine) return fine;
  }
  return setsOne ? Result<void>() : usageError("the change sets no knob");
}

Result<double> parseReal(std::string_view name, std::string_view text, double least, double most) {
  // Not std::from_chars, which libc++ has for real numbers only since LLVM 20; and strtod and
  // stream extraction without the classic locale depend on the user's.
  const bool plain = !text.empty() &&
                     text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
                     (text.front() == '.' || (text.front() >= '0' && text.front() <= '9'));
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> value;
  const bool fits = plain && !stream.fail() && stream.eof() && value >= least && value <= most;
  if (fits) return value;
  return refusedValue(name, text, "a number from " + realText(least) + " to " + realText(most));
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
  return realText(value);
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
