#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/messages.h"
#include "core/result.h"
#include "core/run_limits.h"

namespace highwater {

/// The largest value of each knob, a training setting that the user may change during a run. The
/// smallest value is 1.
struct KnobLimits {
  std::uint32_t batchSize = kMostBatchSize;
  std::uint32_t sequenceLength = kPositionTableLength;
  std::uint32_t lossEvery = kMostLossInterval;
};

/// Checks a change of training settings. Fails with kUsage if a value is not from 1 to its limit,
/// or if `change` sets nothing; the message names the value and the allowed range.
[[nodiscard]] Result<void> checkKnobs(const SetKnobs& change, const KnobLimits& limits);

/// Whether `value` is one that the knob can take: a finite number within its bounds, whole for an
/// integer, or the index of a choice.
[[nodiscard]] bool isValueOf(const ScriptKnob& knob, double value);

/// The value as the user reads it: "32", "0.0003", or the text of a choice.
[[nodiscard]] std::string valueText(const ScriptKnob& knob, double value);

/// The values that the knob can take, for a message: "1 to 512", "whole numbers", "mean, sum".
[[nodiscard]] std::string allowedText(const ScriptKnob& knob);

/// Parses the value of the option --set, STEP:KNOB=VALUE,...: "20:batch=32,seq=128" changes two
/// settings from step 20 on. The knobs are batch, seq and loss-every. Fails with kUsage if the text
/// has another form or names a knob twice, or if a value is out of range.
[[nodiscard]] Result<SetKnobs> parseKnobChange(std::string_view text,
                                               const KnobLimits& limits = {});

}  // namespace highwater
