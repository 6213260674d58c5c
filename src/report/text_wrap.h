#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::report {

/// The width of a line that is never wrapped.
inline constexpr std::size_t kUnlimited = 0;

/// The width of a text on a terminal: its code points.
[[nodiscard]] std::size_t widthOf(std::string_view text);

/// The byte at which the code point of 0-based rank `rank` begins; the end where there are fewer.
[[nodiscard]] std::size_t placeOf(std::string_view text, std::size_t rank);

/// Breaks `text` into lines of at most `width` code points, at spaces. A number keeps its unit
/// ("27.4 ms"). A word that is longer than a line is broken after a slash, or else anywhere. One
/// line for kUnlimited and for an empty text.
[[nodiscard]] std::vector<std::string> wrapText(std::string_view text, std::size_t width);

/// `first`, then `text` wrapped to a whole width of `width`, its further lines indented by `hang`
/// spaces. Ends with a line feed.
[[nodiscard]] std::string hangingText(const std::string& first, std::string_view text,
                                      std::size_t hang, std::size_t width);

}  // namespace highwater::report
