#include "simmps/policy/thermal_states.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/units.h"
#include "simmps/policy/setting_values.h"

namespace highwater::simmps {
namespace {

constexpr double kLongestScriptS = 1e9;
constexpr std::array<std::string_view, 4> kLevels = {"nominal", "fair", "serious", "critical"};
constexpr std::string_view kAllowedStates =
    "nominal, fair, serious or critical; or a script of these with the seconds since the start, "
    "later ones last, as in 0s:nominal,30s:serious";

std::optional<ThermalLevel> levelOf(std::string_view text) {
  const auto* found = std::find(kLevels.begin(), kLevels.end(), text);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<ThermalLevel>(found - kLevels.begin());
}

/// "30s:serious"; the seconds may have a fraction.
std::optional<ThermalStates::Point> thermalPointOf(const std::string& text) {
  constexpr std::string_view kSeconds = "s:";
  const auto time = parseNumber(text);
  if (!time || time->value < 0 || time->value > kLongestScriptS ||
      !time->rest.starts_with(kSeconds)) {
    return std::nullopt;
  }
  const auto level = levelOf(time->rest.substr(kSeconds.size()));
  if (!level) return std::nullopt;
  return ThermalStates::Point{static_cast<std::uint64_t>(time->value * 1e9), *level};
}

}  // namespace

ThermalLevel ThermalStates::stateAt(std::uint64_t ns) const {
  ThermalLevel level = ThermalLevel::Nominal;
  for (const Point& point : script) {
    if (point.atNs > ns) break;
    level = point.level;
  }
  return level;
}

std::variant<ThermalStates, std::string> parseThermalStates(std::string_view variable,
                                                            std::string_view text) {
  if (const auto level = levelOf(text)) return ThermalStates{{{0, *level}}};
  ThermalStates states;
  for (std::size_t start = 0; start <= text.size();) {
    start = std::min(text.find_first_not_of(' ', start), text.size());
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const auto point = thermalPointOf(std::string(text.substr(start, comma - start)));
    if (!point || (!states.script.empty() && point->atNs <= states.script.back().atNs)) {
      return refusal(variable, text, kAllowedStates);
    }
    states.script.push_back(*point);
    start = comma + 1;
  }
  return states;
}

}  // namespace highwater::simmps
