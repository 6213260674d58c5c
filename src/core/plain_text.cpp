#include "core/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace highwater {
namespace {

struct Range {
  char32_t first, last;
};

/// Unicode 15's categories Cc (control), Cf (format), Zl and Zp (line and paragraph separators).
constexpr std::array kUnsafe = {
    Range{0x0, 0x1f},        Range{0x7f, 0x9f},       Range{0xad, 0xad},
    Range{0x600, 0x605},     Range{0x61c, 0x61c},     Range{0x6dd, 0x6dd},
    Range{0x70f, 0x70f},     Range{0x890, 0x891},     Range{0x8e2, 0x8e2},
    Range{0x180e, 0x180e},   Range{0x200b, 0x200f},   Range{0x2028, 0x202e},
    Range{0x2060, 0x2064},   Range{0x2066, 0x206f},   Range{0xfeff, 0xfeff},
    Range{0xfff9, 0xfffb},   Range{0x110bd, 0x110bd}, Range{0x110cd, 0x110cd},
    Range{0x13430, 0x1343f}, Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a},
    Range{0xe0001, 0xe0001}, Range{0xe0020, 0xe007f},
};

bool isUnsafe(char32_t c) {
  const auto after =
      std::upper_bound(kUnsafe.begin(), kUnsafe.end(), c,
                       [](char32_t value, Range range) { return value < range.first; });
  return after != kUnsafe.begin() && c <= std::prev(after)->last;
}

struct Decoded {
  char32_t codePoint;
  std::size_t bytes;  ///< 0: not valid UTF-8
};

Decoded decodeFirst(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {0, 0};
  char32_t codePoint = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    codePoint = codePoint << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint < kSmallest[bytes] || codePoint > 0x10ffff || surrogate) return {0, 0};
  return {codePoint, bytes};
}

}  // namespace

std::optional<std::size_t> firstInvalidUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = decodeFirst(text.substr(at)).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

std::string plainText(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const auto [codePoint, bytes] = decodeFirst(text);
    const std::size_t taken = bytes == 0 ? 1 : bytes;
    if (codePoint == U'\t') {
      plain += ' ';
    } else if (bytes == 0 || isUnsafe(codePoint)) {
      plain += kReplacement;
    } else {
      plain += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return plain;
}

std::string_view cutText(std::string_view text, std::size_t maxBytes) {
  if (text.size() <= maxBytes) return text;
  while (maxBytes > 0 && (static_cast<unsigned char>(text[maxBytes]) & 0xC0) == 0x80) --maxBytes;
  return text.substr(0, maxBytes);
}

}  // namespace highwater
