#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "simmps/heap_allocator.h"

namespace highwater::simmps {

inline constexpr char kRecommendedVariable[] = "HIGHWATER_SIM_RECOMMENDED_MAX";
inline constexpr char kQueueVariable[] = "HIGHWATER_SIM_QUEUE";
inline constexpr char kLedgerVariable[] = "HIGHWATER_SIM_LEDGER";
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

  // Knobs of the simulation; the defaults change nothing.
  std::uint64_t systemBytes = 0;        ///< memory of the simulated machine
  std::uint64_t hiddenGrowthBytes = 0;  ///< what the process grows by a step, outside of driver
  std::uint64_t graphCacheBytes = 0;    ///< driver grows by for a new combination of op and shapes
  std::uint64_t launchDelayNs = 0;      ///< added to each kernel, on the device's thread
  double slowdown = 1;                  ///< a kernel takes this many times as long, 1 or more
  std::vector<std::string> missingOps;  ///< ops that lack a kernel besides those that really do
  std::uint64_t outOfMemoryAt = 0;      ///< the n-th allocation is refused, counted from 1; 0: none
  std::uint64_t hangAt = 0;             ///< the queue stops for ever at its n-th kernel; 0: never
  std::uint64_t crashAt = 0;            ///< the process aborts at the n-th kernel; 0: never
  std::string ledgerFile;               ///< empty: no ledger is kept
  std::uint32_t debugVerbosity = 0;     ///< bits of PYTORCH_DEBUG_MPS_ALLOCATOR
};

/// Reads one variable; nullptr where it is not set.
using Environment = std::function<const char*(const char* name)>;

/// The settings, or one line that names the variable, its value and what is allowed.
std::variant<Settings, std::string> readSettings(const Environment& environment,
                                                 std::uint64_t machineBytes);

/// Physical memory of this machine in bytes.
std::uint64_t machineMemoryBytes();

}  // namespace highwater::simmps
