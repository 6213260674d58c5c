#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace highwater {

/// Makes `text` (UTF-8) a single line that is safe to print on a terminal, which would otherwise
/// obey escape sequences in the names of a recording. A tab becomes a space; other control
/// characters, invisible format characters, line separators and invalid bytes become U+FFFD.
[[nodiscard]] std::string plainText(std::string_view text);

/// Finds the first byte of `text` that is not part of valid UTF-8 (RFC 3629) and returns its offset
/// in bytes. std::nullopt if the whole text is valid.
[[nodiscard]] std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// The longest beginning of `text` (UTF-8) of at most `maxBytes` bytes that cuts no character.
[[nodiscard]] std::string_view cutText(std::string_view text, std::size_t maxBytes);

}  // namespace highwater
