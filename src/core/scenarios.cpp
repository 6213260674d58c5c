#include "core/scenarios.h"

#include <algorithm>

namespace highwater {
namespace {

constexpr Scenario kScenarios[] = {
#include "core/scenario_table.inc"
};

}  // namespace

std::span<const Scenario> scenarios() {
  return kScenarios;
}

std::string scenarioNames() {
  std::string names;
  for (const Scenario& each : kScenarios) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  return names;
}

Result<const Scenario*> findScenario(const std::string& name) {
  const auto* found = std::find_if(std::begin(kScenarios), std::end(kScenarios),
                                   [&](const Scenario& each) { return each.name == name; });
  if (found != std::end(kScenarios)) return found;
  return usageError("there is no scenario \"" + name + "\"; there are " + scenarioNames());
}

}  // namespace highwater
