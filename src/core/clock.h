#pragma once

#include <chrono>
#include <cstdint>

namespace highwater {

/// Nanoseconds of the machine's monotonic clock (std::chrono::steady_clock: CLOCK_MONOTONIC on Linux,
/// CLOCK_MONOTONIC_RAW with libc++ on macOS, which goes on while the machine sleeps).
[[nodiscard]] inline std::int64_t monotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds since 1970-01-01 UTC.
[[nodiscard]] inline std::int64_t unixNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The zero of a run's event times and the wall-clock time of the same moment.
struct RunClock {
  std::int64_t monotonicEpochNs = 0;
  std::int64_t unixEpochNs = 0;

  [[nodiscard]] static RunClock startingNow() { return {monotonicNs(), unixNs()}; }
};

}  // namespace highwater
