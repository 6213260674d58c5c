#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace highwater {

/// Bytes in a kibibyte.
inline constexpr std::uint64_t kKiB = 1024;
/// Bytes in a mebibyte.
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
/// Bytes in a gibibyte.
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

/// Nanoseconds in a millisecond.
inline constexpr double kNsPerMs = 1e6;
/// Nanoseconds in a second.
inline constexpr double kNsPerS = 1e9;

/// Converts nanoseconds to milliseconds.
[[nodiscard]] constexpr double toMs(std::int64_t ns) {
  return static_cast<double>(ns) / kNsPerMs;
}

// Texts are the same in every locale: a decimal point, no thousands separators.

/// Formats a number with exactly `decimals` digits after the decimal point: "0.42", "-3".
[[nodiscard]] std::string formatDecimals(double value, int decimals);

/// Formats a number of bytes in binary units: "512 B", "4.0 KiB", "12.0 MiB", "5.06 GiB".
[[nodiscard]] std::string formatBytes(std::uint64_t bytes);

/// Rounds a computed size down to whole bytes, for formatBytes(). A negative size or NaN counts as
/// 0. Precondition: less than 2^64.
[[nodiscard]] constexpr std::uint64_t wholeBytes(double bytes) {
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

/// Formats a duration in nanoseconds: below a second in milliseconds, with two decimals below 10 ms
/// and one below 100 ms ("0.42 ms", "12.3 ms", "201 ms"), else in seconds with two ("12.40 s").
[[nodiscard]] std::string formatDuration(std::int64_t ns);

/// Formats a duration in milliseconds as formatDuration() does: "12.3 ms", "2.40 s".
[[nodiscard]] std::string formatMs(double ms);

/// Formats a rate per second, without the unit: "843", "20.5k", "1.20M". An en dash for NaN.
[[nodiscard]] std::string formatRate(double perSecond);

/// Formats a time since the start of the run, in nanoseconds: "0:24.127" (m:ss.mmm), or from an
/// hour on "1:02:24.127". `decimals` is the number of digits of the seconds' fraction, 0 to 9.
[[nodiscard]] std::string formatRunTime(std::int64_t ns, int decimals = 3);

/// Returns `text` without spaces and tabs at its ends.
[[nodiscard]] std::string_view withoutBlanks(std::string_view text);

/// What parseNumber() has read: the number at the beginning of a text, and the text after it.
struct LeadingNumber {
  double value = 0;
  std::string_view rest;
};
/// Reads the decimal number that `text` begins with: -1.5 from "-1.5 GiB". An exponent ("1e3") is
/// part of it. std::nullopt if the text begins with something else, or if a double cannot hold the
/// number.
[[nodiscard]] std::optional<LeadingNumber> parseNumber(std::string_view text);

/// Parses a size and returns it in bytes: "4096", "64 MiB", "2.5GiB". Fails with kUsage if the text
/// is not a size; the message begins with `name`, the option or variable that holds the text.
[[nodiscard]] Result<std::uint64_t> parseBytes(std::string_view text, std::string_view name);

}  // namespace highwater
