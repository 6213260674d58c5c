#pragma once

#include <charconv>
#include <limits>
#include <string>

#include "core/result.h"

namespace highwater::app {

/// A whole number from `least` to `most`; kUsage says "NAME is TEXT; give …".
template <typename T>
[[nodiscard]] Result<T> parseWhole(const std::string& name, const std::string& text, T least,
                                   T most = std::numeric_limits<T>::max()) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end && value >= least && value <= most) return value;
  return usageError(name + " is \"" + text + "\"; give a whole number from " +
                    std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace highwater::app
