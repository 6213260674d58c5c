#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "simmps/heap_allocator.h"

namespace highwater::simmps {

inline constexpr char kRecommendedVariable[] = "HIGHWATER_SIM_RECOMMENDED_MAX";
inline constexpr char kQueueVariable[] = "HIGHWATER_SIM_QUEUE";
inline constexpr char kHighVariable[] = "PYTORCH_MPS_HIGH_WATERMARK_RATIO";
inline constexpr char kLowVariable[] = "PYTORCH_MPS_LOW_WATERMARK_RATIO";
inline constexpr char kFallbackVariable[] = "PYTORCH_ENABLE_MPS_FALLBACK";

/// What the environment says about the simulated device, read once when the library is loaded.
struct Settings {
  MemoryLimits limits;
  /// Longest single buffer, as Metal's maxBufferLength: 75 % of the machine's memory.
  std::uint64_t maxBufferBytes = 0;
  /// False: every op waits until the device has run it (HIGHWATER_SIM_QUEUE=sync).
  bool asynchronous = true;
  /// True: ops without an MPS kernel run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK).
  bool cpuFallback = false;
};

/// Reads one variable; nullptr where it is not set.
using Environment = std::function<const char*(const char* name)>;

/// The settings, or one line that names the variable, its value and what is allowed.
std::variant<Settings, std::string> readSettings(const Environment& environment,
                                                 std::uint64_t machineBytes);

/// Physical memory of this machine in bytes.
std::uint64_t machineMemoryBytes();

}  // namespace highwater::simmps
