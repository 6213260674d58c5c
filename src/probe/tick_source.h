#pragma once

#include <cstdint>

#if defined(__APPLE__)
#include <mach/mach_time.h>
#endif
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace highwater::probe {

/// The processor's counter of time: some nanoseconds to read, in a unit of its own. Not ordered
/// against the instructions around it: a load that waits for another core is over some microseconds
/// after a tick that the program reads later. orderTicks() in between says otherwise.
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

/// Ticks that are read after this call are later than all memory accesses before it, and those that
/// are read before it earlier than all accesses after it.
inline void orderTicks() noexcept {
#if defined(__x86_64__)
  _mm_lfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

/// Whether readTicks() goes at one pace on all cores. On Linux the kernel knows: where it does not
/// take its own time from that counter, neither do we.
[[nodiscard]] bool ticksAreSteady();

}  // namespace highwater::probe
