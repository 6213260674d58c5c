#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.h"

namespace highwater {

/// An environment variable that a scenario sets for the worker unless the user has set it.
struct ScenarioSetting {
  const char* variable = nullptr;  ///< nullptr: unused entry
  const char* value = nullptr;
};

/// A small training program with one known problem, for learning and testing; generated from a file
/// in resources/scenarios. Options on the command line override its settings.
struct Scenario {
  const char* name;
  const char* description;  ///< what the program does, one sentence
  const char* shows;        ///< what the user sees, one sentence
  const char* problem;      ///< key of the first finding; empty if there is none
  const char* program;      ///< variant of the worker's training loop; "plain" for none
  std::uint32_t steps, batchSize, sequenceLength, lossEvery;
  ScenarioSetting environment[4];
};

/// All scenarios, sorted by name.
[[nodiscard]] std::span<const Scenario> scenarios();

/// The names of all scenarios in one text, for messages: "chatty-logging, clean, ..."
[[nodiscard]] std::string scenarioNames();

/// Finds the scenario called `name`; the pointer is never null. Fails with kUsage if there is none;
/// the message lists all names.
[[nodiscard]] Result<const Scenario*> findScenario(const std::string& name);

}  // namespace highwater
