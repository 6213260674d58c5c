#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace highwater {

inline constexpr char kSimRecommendedVariable[] = "HIGHWATER_SIM_RECOMMENDED_MAX";
inline constexpr char kSimSystemVariable[] = "HIGHWATER_SIM_SYSTEM_MEMORY";
inline constexpr char kSimOtherVariable[] = "HIGHWATER_SIM_OTHER_MEMORY";
inline constexpr char kSimHiddenGrowthVariable[] = "HIGHWATER_SIM_HIDDEN_GROWTH";
inline constexpr char kSimGraphCacheVariable[] = "HIGHWATER_SIM_GRAPH_CACHE";
inline constexpr char kSimLaunchDelayVariable[] = "HIGHWATER_SIM_LAUNCH_DELAY";
inline constexpr char kSimSlowdownVariable[] = "HIGHWATER_SIM_SLOWDOWN";
inline constexpr char kSimMissingOpsVariable[] = "HIGHWATER_SIM_MISSING_OPS";
inline constexpr char kSimOutOfMemoryAtVariable[] = "HIGHWATER_SIM_OOM_AT";
inline constexpr char kSimHangAtVariable[] = "HIGHWATER_SIM_HANG_AT";
inline constexpr char kSimCrashAtVariable[] = "HIGHWATER_SIM_CRASH_AT";
inline constexpr char kSimQueueVariable[] = "HIGHWATER_SIM_QUEUE";
inline constexpr char kSimLedgerVariable[] = "HIGHWATER_SIM_LEDGER";
/// Every variable of the simulated device begins so.
inline constexpr std::string_view kSimPrefix = "HIGHWATER_SIM_";

inline constexpr char kMpsFallbackVariable[] = "PYTORCH_ENABLE_MPS_FALLBACK";
inline constexpr char kMpsHighWatermarkVariable[] = "PYTORCH_MPS_HIGH_WATERMARK_RATIO";
inline constexpr char kMpsLowWatermarkVariable[] = "PYTORCH_MPS_LOW_WATERMARK_RATIO";
inline constexpr char kMpsDebugVariable[] = "PYTORCH_DEBUG_MPS_ALLOCATOR";

/// A setting of the device: the environment variable that the worker's process reads, and the
/// option of `highwater` that sets it. One table for the command line, the device and
/// docs/simulated-mps.md.
struct SimKnob {
  enum class Scope : std::uint8_t {
    Simulated,  ///< of the simulated device only
    PyTorch     ///< PyTorch's own: real MPS reads it too
  };
  const char* variable;
  const char* option;    ///< empty where there is none
  const char* metavar;   ///< empty: a flag, which sets the variable to 1
  const char* fallback;  ///< what holds where it is not set, in words
  const char* help;
  Scope scope = Scope::Simulated;
};

inline constexpr std::array kSimKnobs = {
    SimKnob{kSimRecommendedVariable, "--sim-recommended-max", "BYTES", "75 % of the system memory",
            "Recommended max working set, 16MiB to 1024GiB"},
    SimKnob{kSimSystemVariable, "--sim-system-memory", "BYTES", "this machine's",
            "Memory of the simulated machine, 32MiB to 1024GiB"},
    SimKnob{
        kSimOtherVariable, "--sim-other-memory", "BYTES", "none",
        "Memory that other applications use; or a script of it by seconds since the start, as in "
        "0s:2GiB,30s:10GiB; or file:PATH of a file with a size, which may change"},
    SimKnob{kSimHiddenGrowthVariable, "--sim-hidden-growth", "BYTES", "0",
            "What the process grows by each step outside of driver memory, up to 1024GiB"},
    SimKnob{kSimGraphCacheVariable, "--sim-graph-cache", "BYTES", "0",
            "What driver memory grows by for each new combination of op and shapes, up to 1024GiB"},
    SimKnob{kSimLaunchDelayVariable, "--sim-launch-delay", "TIME", "0",
            "Delay before each kernel in microseconds, or with us or ms, up to 1000ms"},
    SimKnob{kSimSlowdownVariable, "--sim-slowdown", "FACTOR", "1",
            "A kernel takes this many times as long, 1 to 1000"},
    SimKnob{kSimMissingOpsVariable, "--sim-missing-ops", "OP,...", "none",
            "Ops that lack an MPS kernel besides those that really do, as in gelu,aten::cumsum"},
    SimKnob{kSimOutOfMemoryAtVariable, "--sim-oom-at", "N", "never",
            "The N-th allocation of the device is refused"},
    SimKnob{kSimHangAtVariable, "--sim-hang-at", "N", "never",
            "The queue stops for ever before its N-th kernel"},
    SimKnob{kSimCrashAtVariable, "--sim-crash-at", "N", "never",
            "The process aborts before the N-th kernel"},
    SimKnob{kSimQueueVariable, "--sim-queue", "MODE", "async",
            "async, or sync: each op waits until the device has run it"},
    SimKnob{kSimLedgerVariable, "--sim-ledger", "FILE", "none",
            "Write the device's own account, JSON Lines; %p in the name is the process's id"},
    SimKnob{kMpsFallbackVariable, "--fallback", "", "off",
            "Run ops without an MPS kernel on the CPU; else they are an error",
            SimKnob::Scope::PyTorch},
    SimKnob{kMpsHighWatermarkVariable, "--high-watermark", "RATIO", "1.7",
            "Allocations past this multiple of recommended fail, 0 (no limit) to 2",
            SimKnob::Scope::PyTorch},
    SimKnob{kMpsLowWatermarkVariable, "--low-watermark", "RATIO", "1.4",
            "Past this multiple of recommended cached memory is collected, 0 (off) to the high "
            "watermark",
            SimKnob::Scope::PyTorch},
    SimKnob{kMpsDebugVariable, "", "BITS", "0",
            "What the allocator prints: 1 profile, 2 allocations, 4 recycling, 8 releases, 16 "
            "large blocks only",
            SimKnob::Scope::PyTorch},
};

}  // namespace highwater
