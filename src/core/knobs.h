#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/messages.h"
#include "core/result.h"
#include "core/run_limits.h"

namespace highwater {

/// The largest value of the knobs that are sizes, whose smallest value is 1; and which values the
/// device lacks.
struct KnobLimits {
  std::uint32_t batchSize = kMostBatchSize;
  std::uint32_t sequenceLength = kPositionTableLength;
  std::uint32_t lossEvery = kMostLossInterval;
  std::uint32_t accumulation = kMostAccumulation;
  /// Why the device has no such precision, or no memory fraction, in one sentence without a full
  /// stop; empty: it has.
  std::string noBFloat16{}, noFloat16{}, noMemoryFraction{};
};

/// A knob: a training setting that the user may change during a run. Its values are numbers:
/// Precision and OutOfMemoryPolicy by their number, a switch as 0 and 1.
struct Knob {
  events::MarkerKind kind;  ///< of the marker that a change leaves; identifies the knob
  std::string_view key;     ///< in --set
  std::string_view name;    ///< in messages
  double (*value)(const Knobs&);
  void (*put)(Knobs&, double);
  std::optional<double> (*requested)(const SetKnobs&);
  void (*request)(SetKnobs&, double);
};

/// All knobs, in the order of the controls.
[[nodiscard]] std::span<const Knob> allKnobs();
/// The knob whose changes have markers of `kind`; nullptr if there is none.
[[nodiscard]] const Knob* knobOf(events::MarkerKind kind);
/// The knob of that key; nullptr if there is none.
[[nodiscard]] const Knob* knobOf(std::string_view key);
/// The keys of all knobs, for people: "batch, seq and lr".
[[nodiscard]] std::string knobKeys();

/// Parses a value of a knob as knobText() writes it; `name` is what the message calls it. Fails
/// with kUsage if it is none that checkKnobValue() allows.
[[nodiscard]] Result<double> parseKnobValue(const Knob& knob, const std::string& name,
                                            std::string_view text, const KnobLimits& limits = {});

/// Checks a value of a knob. Fails with kUsage; the message names the value and what is allowed.
[[nodiscard]] Result<void> checkKnobValue(const Knob& knob, double value, const KnobLimits& limits);
/// The value as the user reads and writes it: "32", "0.0003", "bfloat16", "on", "halve".
[[nodiscard]] std::string knobText(const Knob& knob, double value);
/// The change as the user reads it: "batch 16 → 32", "precision float32 → bfloat16".
[[nodiscard]] std::string knobChangeText(const Knob& knob, double before, double after);

/// The names of Precision: "float32".
[[nodiscard]] std::string_view precisionName(Precision precision);
/// The precision of that name; kUnknown if there is none.
[[nodiscard]] Precision precisionFromName(std::string_view name);
/// The names of OutOfMemoryPolicy: "halve".
[[nodiscard]] std::string_view policyName(OutOfMemoryPolicy policy);
/// The policy of that name; kUnknown if there is none.
[[nodiscard]] OutOfMemoryPolicy policyFromName(std::string_view name);

/// Checks a change of training settings. Fails with kUsage if a value is not allowed, or if
/// `change` sets nothing; the message names the value and the allowed range.
[[nodiscard]] Result<void> checkKnobs(const SetKnobs& change, const KnobLimits& limits);

/// Whether `value` is one that the knob can take: a finite number within its bounds, whole for an
/// integer, or the index of a choice.
[[nodiscard]] bool isValueOf(const ScriptKnob& knob, double value);

/// The value as the user reads it: "32", "0.0003", or the text of a choice.
[[nodiscard]] std::string valueText(const ScriptKnob& knob, double value);

/// The values that the knob can take, for a message: "1 to 512", "whole numbers", "mean, sum".
[[nodiscard]] std::string allowedText(const ScriptKnob& knob);

/// Parses the value of the option --set, STEP:KNOB=VALUE,...: "20:batch=32,seq=128" changes two
/// settings from step 20 on. The knobs are those of allKnobs(). Fails with kUsage if the text has
/// another form or names a knob twice, or if a value is out of range.
[[nodiscard]] Result<SetKnobs> parseKnobChange(std::string_view text,
                                               const KnobLimits& limits = {});

/// Parses a number that need not be whole, such as a learning rate: "0.001", "3e-4". `name` is the
/// option in the message. Fails with kUsage if it is none, or not from `least` to `most`.
[[nodiscard]] Result<double> parseReal(std::string_view name, std::string_view text, double least,
                                       double most);

}  // namespace highwater
