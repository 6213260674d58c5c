#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"

namespace highwater::simmps {

/// One point of a setting that changes with time: `value` holds from `atNs` until the next point.
template <typename Value>
struct ScriptPoint {
  std::uint64_t atNs = 0;  ///< since the device was created
  Value value{};
};

/// A setting that changes with time: its points, by time.
template <typename Value>
using TimedScript = std::vector<ScriptPoint<Value>>;

/// Returns the value `ns` nanoseconds after the device was created; `before` if that is before the
/// first point.
template <typename Value>
[[nodiscard]] Value valueAt(const TimedScript<Value>& script, std::uint64_t ns, Value before) {
  for (const auto& [atNs, value] : script) {
    if (atNs > ns) break;
    before = value;
  }
  return before;
}

/// Parses "0s:A,30s:B": values with the seconds since the start, which may have a fraction.
/// `valueOf(text)` is the value, or nullopt for a text that is none. Returns nullopt if a point is
/// malformed, not later than the one before, or after 1e9 seconds.
template <typename Value, typename ValueOf>
[[nodiscard]] std::optional<TimedScript<Value>> parseTimedScript(std::string_view text,
                                                                 ValueOf&& valueOf) {
  constexpr double kMostSeconds = 1e9;
  constexpr std::string_view kSeconds = "s:";
  TimedScript<Value> script;
  for (std::size_t start = 0; start <= text.size();) {
    start = std::min(text.find_first_not_of(' ', start), text.size());
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const auto time = parseNumber(text.substr(start, comma - start));
    if (!time || time->value < 0 || time->value > kMostSeconds ||
        !time->rest.starts_with(kSeconds)) {
      return std::nullopt;
    }
    const std::optional<Value> value = valueOf(time->rest.substr(kSeconds.size()));
    const auto atNs = static_cast<std::uint64_t>(time->value * 1e9);
    if (!value || (!script.empty() && atNs <= script.back().atNs)) return std::nullopt;
    script.push_back({atNs, *value});
    start = comma + 1;
  }
  return script;
}

}  // namespace highwater::simmps
