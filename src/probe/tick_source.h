#pragma once

#include <cstdint>

#if defined(__APPLE__)
#include <mach/mach_time.h>
#elif defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace highwater::probe {

/// The processor's counter of time: some nanoseconds to read, in a unit of its own. Not ordered
/// against the instructions around it, which may move by some tens of nanoseconds.
[[nodiscard]] inline std::uint64_t readTicks() noexcept {
#if defined(__APPLE__)
  return ::mach_absolute_time();
#elif defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

/// Whether readTicks() goes at one pace on all cores. On Linux the kernel knows: where it does not
/// take its own time from that counter, neither do we.
[[nodiscard]] bool ticksAreSteady();

}  // namespace highwater::probe
