#pragma once

#include <chrono>
#include <cstdint>

namespace highwater {

/// The current time of std::chrono::steady_clock in nanoseconds, for measuring durations. The clock
/// is CLOCK_MONOTONIC on Linux, and on macOS CLOCK_MONOTONIC_RAW, which also counts while the
/// machine sleeps.
[[nodiscard]] inline std::int64_t monotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The current date and time, in nanoseconds since 1970-01-01 UTC.
[[nodiscard]] inline std::int64_t unixNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The moment from which a run's event times are counted, read from monotonicNs() and unixNs().
/// Event times are nanoseconds of the monotonic clock since then.
struct RunClock {
  std::int64_t monotonicEpochNs = 0;
  std::int64_t unixEpochNs = 0;

  /// Reads both clocks now.
  [[nodiscard]] static RunClock startingNow() { return {monotonicNs(), unixNs()}; }
};

}  // namespace highwater
