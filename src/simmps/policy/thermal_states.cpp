#include "simmps/policy/thermal_states.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "simmps/policy/setting_values.h"

namespace highwater::simmps {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"nominal", "fair", "serious", "critical"};
constexpr std::string_view kAllowedStates =
    "nominal, fair, serious or critical; or a script of these with the seconds since the start, "
    "later ones last, as in 0s:nominal,30s:serious";

std::optional<ThermalLevel> levelOf(std::string_view text) {
  const auto* found = std::find(kLevels.begin(), kLevels.end(), text);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<ThermalLevel>(found - kLevels.begin());
}

}  // namespace

ThermalLevel ThermalStates::stateAt(std::uint64_t ns) const {
  return valueAt(script, ns, ThermalLevel::Nominal);
}

std::variant<ThermalStates, std::string> parseThermalStates(std::string_view variable,
                                                            std::string_view text) {
  if (const auto level = levelOf(text)) return ThermalStates{{{0, *level}}};
  if (auto script = parseTimedScript<ThermalLevel>(text, levelOf)) {
    return ThermalStates{std::move(*script)};
  }
  return refusal(variable, text, kAllowedStates);
}

}  // namespace highwater::simmps
