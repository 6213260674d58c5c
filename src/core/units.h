#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace highwater {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

inline constexpr double kNsPerMs = 1e6;
inline constexpr double kNsPerS = 1e9;

/// "512 B", "4.0 KiB", "12.0 MiB", "5.06 GiB": binary units, GiB with two decimals, else one.
[[nodiscard]] std::string formatBytes(std::uint64_t bytes);

/// "0.42 ms", "12.3 ms", "201 ms", "2.40 s".
[[nodiscard]] std::string formatDuration(std::int64_t ns);

/// A rate as "843", "20.5k", "1.20M".
[[nodiscard]] std::string formatRate(double perSecond);

/// A position on a run's time axis: "0:24.127" (m:ss.mmm), or "1:02:24.127" from an hour on.
[[nodiscard]] std::string formatRunTime(std::int64_t ns, int decimals = 3);

/// Reads "4096", "64 MiB", "2.5GiB". `name` is the option or variable that an error names.
[[nodiscard]] Result<std::uint64_t> parseBytes(std::string_view text, std::string_view name);

}  // namespace highwater
