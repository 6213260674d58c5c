#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.h"

namespace highwater {

/// An environment variable that a scenario sets for the worker, where the user has not.
struct ScenarioSetting {
  const char* variable = nullptr;  ///< nullptr: none
  const char* value = nullptr;
};

/// A small training program with one known problem, to learn from and to test with: one file of
/// resources/scenarios. What the command line says wins over it.
struct Scenario {
  const char* name;
  const char* description;  ///< what it does, one sentence
  const char* shows;        ///< what is seen, one sentence
  const char* problem;      ///< the key of the finding that comes first; empty: there is none
  const char* program;      ///< what the worker's training loop does differently; "plain": nothing
  std::uint32_t steps, batchSize, sequenceLength, lossEvery;
  ScenarioSetting environment[4];
};

/// All of them, by name.
[[nodiscard]] std::span<const Scenario> scenarios();

/// "chatty-logging, clean, ...".
[[nodiscard]] std::string scenarioNames();

/// kUsage, with the list, where there is none of that name.
[[nodiscard]] Result<const Scenario*> findScenario(const std::string& name);

}  // namespace highwater
