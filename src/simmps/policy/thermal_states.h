#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "simmps/policy/timed_script.h"

namespace highwater::simmps {

/// How hot a machine is, with the numbers of NSProcessInfoThermalState.
enum class ThermalLevel : std::uint8_t { Nominal = 0, Fair = 1, Serious = 2, Critical = 3 };

/// The simulated machine's thermal state over time.
struct ThermalStates {
  TimedScript<ThermalLevel> script;  ///< nominal before the first point

  /// The state `ns` nanoseconds after the device was created.
  [[nodiscard]] ThermalLevel stateAt(std::uint64_t ns) const;
};

/// Parses a state ("serious") or a script over time ("0s:nominal,30s:serious"). Returns an error
/// text that names `variable` and says what is allowed if a state is unknown or a script's times do
/// not ascend.
[[nodiscard]] std::variant<ThermalStates, std::string> parseThermalStates(std::string_view variable,
                                                                          std::string_view text);

}  // namespace highwater::simmps
