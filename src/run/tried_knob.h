#pragma once

#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "core/result.h"

namespace highwater::run {

/// Another value of a knob, to be tried in a run.
struct TriedKnob {
  double before = 0, value = 0;  ///< as in SetScriptKnob, or in Knob
  std::string text;              ///< the value for people
};

/// A knob that can be tried.
struct KnobToTry {
  std::string name;
  std::string now;                  ///< its value, for people
  std::vector<std::string> others;  ///< the values that it could have too; empty: numbers
};

/// The knobs of a run that can be tried: those of the user's script but for the batch size, or what
/// the workload has that changes how long a step takes.
[[nodiscard]] std::vector<KnobToTry> knobsToTry(const analysis::LiveStore& store);

/// Reads the value of a knob of the user's script, or of the workload by its key in --set. Fails
/// with kUsage where there is no such knob, where it cannot have the value or has it already; and
/// with kFailed for a knob that is none of knobsToTry(), as one that sets the batch or the length,
/// which a sweep measures within the memory that there is.
[[nodiscard]] Result<TriedKnob> triedKnobOf(const analysis::LiveStore& store,
                                            const std::string& knob, const std::string& value);

/// The value of a workload's knob to try, before there is a run. Fails as triedKnobOf() does.
[[nodiscard]] Result<double> workloadValueOf(const std::string& key, const std::string& text);

}  // namespace highwater::run
