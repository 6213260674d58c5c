#pragma once

#include <charconv>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

/// Checks of option values. All refuse in one form: NAME is "TEXT"; give WHAT IS ALLOWED.
namespace highwater {

/// Cuts `text` (UTF-8) to at most 200 bytes for use in a message, and appends "…" if it was longer.
[[nodiscard]] std::string shortened(std::string_view text);

/// Makes a kUsage error for a wrong value of the option or variable `name`. Its message reads:
/// `name` is "`text`"; give `allowed`.
[[nodiscard]] Error refusedValue(std::string_view name, std::string_view text,
                                 std::string_view allowed);

/// Parses `text` as a whole number from `least` to `most`, without plus sign, spaces or exponent.
/// Fails with kUsage if it is something else; `name` is the option or variable in the message.
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

/// The parts of a text between its commas; one, which may be empty, without a comma.
[[nodiscard]] std::vector<std::string> commaParts(std::string_view text);

/// Checks that `text` is exactly one of `choices`. Fails with kUsage otherwise; the message lists
/// the choices and begins with `name`, the option or variable.
[[nodiscard]] Result<void> checkChoice(std::string_view name, std::string_view text,
                                       std::span<const std::string_view> choices);

/// The number of edits that turn one word into the other. An edit changes, adds or removes a byte,
/// or swaps it with the next one (optimal string alignment).
[[nodiscard]] std::size_t editDistance(std::string_view from, std::string_view to);

/// Suggests spellings: at most `most` of the words in `known`, the nearest to `word` first. Leaves
/// out words that need more edits than a third of the length of `word` (at least 1), or more than
/// one edit beyond the nearest.
[[nodiscard]] std::vector<std::string> nearestWords(std::string_view word,
                                                    std::span<const std::string> known,
                                                    std::size_t most = 3);

/// Joins words for a message: "a", "a or b", "a, b or c". Empty if there are none.
[[nodiscard]] std::string alternatives(std::span<const std::string> words);

}  // namespace highwater
