#include "cli/picture_range.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/option_values.h"
#include "core/run_limits.h"
#include "core/units.h"

namespace highwater::cli {
namespace {

/// A day more than anyone records; beyond, nanoseconds would overflow.
constexpr double kMostSeconds = 366.0 * 86'400;

std::optional<double> wholeOf(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  const auto number = parseNumber(text);
  return number ? std::optional(number->value) : std::nullopt;
}

/// Seconds, from the hours and minutes before the colons on.
std::optional<double> secondsOf(std::string_view text) {
  double before = 0;
  int parts = 0;
  for (auto colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':')) {
    const auto part = wholeOf(text.substr(0, colon));
    if (!part || ++parts > 2) return {};
    before = 60 * (before + *part);
    text.remove_prefix(colon + 1);
  }
  const auto number = parseNumber(text);
  if (!number || number->value < 0) return {};
  const std::string_view unit = withoutBlanks(number->rest);
  if (parts > 0 && (!unit.empty() || number->value >= 60)) return {};
  if (unit == "ms") return number->value / 1000;
  if (!unit.empty() && unit != "s") return {};
  return before + number->value;
}

}  // namespace

Result<std::int64_t> parseRunTime(const std::string& option, const std::string& text) {
  const auto seconds = secondsOf(withoutBlanks(text));
  if (!seconds || !std::isfinite(*seconds) || *seconds > kMostSeconds) {
    return refusedValue(option, text, "a time since the start of the run, such as 0:41.5 or 41.5s");
  }
  return static_cast<std::int64_t>(std::llround(*seconds * kNsPerS));
}

Result<std::pair<std::uint32_t, std::uint32_t>> parseStepRange(const std::string& option,
                                                               const std::string& text) {
  const auto dash = text.find('-');
  const std::string first = text.substr(0, dash);
  const std::string last = dash == std::string::npos ? first : text.substr(dash + 1);
  const auto begin = parseWhole(option, first, 1u, kMostRunSteps);
  const auto end = parseWhole(option, last, 1u, kMostRunSteps);
  if (!begin || !end || *begin > *end) {
    return refusedValue(
        option, text,
        "the first and the last step, 1 to " + std::to_string(kMostRunSteps) + ", such as 120-139");
  }
  return std::pair(*begin, *end);
}

}  // namespace highwater::cli
