#pragma once

#include <cstdint>

#if defined(__APPLE__)
#include <mach/mach_time.h>
#endif
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace highwater::probe {

/// Reads the processor's tick counter, in its own unit; takes some nanoseconds. The processor may
/// reorder the reading with memory accesses around it, by microseconds; orderTicks() prevents that.
/// Returns 0 on a processor that is not supported.
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

/// Keeps the processor from moving loads and readTicks() past this call (a fence). On x86 other
/// threads may still see an earlier store late, unless that store is seq_cst.
inline void orderTicks() noexcept {
#if defined(__x86_64__)
  _mm_lfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

/// Returns true if readTicks() has one pace on all cores. On x86 Linux it does if the kernel uses
/// the counter for its own clock.
[[nodiscard]] bool ticksAreSteady();

}  // namespace highwater::probe
