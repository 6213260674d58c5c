#pragma once

#include <charconv>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

/// What the value of an option may be, refused in one form: NAME is "TEXT"; give what is allowed.
namespace highwater {

/// The first `most` bytes of a text, or up to 3 fewer: not in the middle of a character of UTF-8.
[[nodiscard]] std::string_view cutText(std::string_view text, std::size_t most);
/// As much of a value as a message shows, 200 bytes: with "…" where that is not all of it.
[[nodiscard]] std::string shortened(std::string_view text);

/// kUsage: what was given, and what is allowed.
[[nodiscard]] Error refusedValue(std::string_view name, std::string_view text,
                                 std::string_view allowed);

/// A whole number from `least` to `most`, without sign or exponent.
template <typename T>
[[nodiscard]] Result<T> parseWhole(std::string_view name, std::string_view text, T least,
                                   T most = std::numeric_limits<T>::max()) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end && value >= least && value <= most) return value;
  return refusedValue(
      name, text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

/// One of `choices`, spelled as they are.
[[nodiscard]] Result<void> checkChoice(std::string_view name, std::string_view text,
                                       std::span<const std::string_view> choices);

/// The words of `known` that are spelled most like `word`, the nearest first: at most `most`, and
/// none of which more than a third of the letters would have to change.
[[nodiscard]] std::vector<std::string> nearestWords(std::string_view word,
                                                    std::span<const std::string> known,
                                                    std::size_t most = 3);

/// "a", "a or b", "a, b or c".
[[nodiscard]] std::string alternatives(std::span<const std::string> words);

}  // namespace highwater
