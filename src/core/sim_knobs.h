#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace highwater {

/// Environment variable that sets the simulated device's recommended maximum of memory, in
/// bytes.
inline constexpr char kSimRecommendedVariable[] = "HIGHWATER_SIM_RECOMMENDED_MAX";
/// Environment variable that sets the memory of the simulated machine, in bytes.
inline constexpr char kSimSystemVariable[] = "HIGHWATER_SIM_SYSTEM_MEMORY";
/// Environment variable that sets the memory that other applications of the simulated machine
/// use, in bytes, fixed or changing with time.
inline constexpr char kSimOtherVariable[] = "HIGHWATER_SIM_OTHER_MEMORY";
/// Environment variable that sets the thermal state of the simulated machine, fixed or changing
/// with time.
inline constexpr char kSimThermalVariable[] = "HIGHWATER_SIM_THERMAL";
/// Environment variable that sets whether the simulated machine is in Low Power Mode.
inline constexpr char kSimLowPowerVariable[] = "HIGHWATER_SIM_LOW_POWER";
/// Environment variable that sets the memory, in bytes, that the process gains in each step
/// outside of what the simulated driver counts.
inline constexpr char kSimHiddenGrowthVariable[] = "HIGHWATER_SIM_HIDDEN_GROWTH";
/// Environment variable that sets the driver memory, in bytes, that the simulated device gains for
/// each new combination of op and shapes.
inline constexpr char kSimGraphCacheVariable[] = "HIGHWATER_SIM_GRAPH_CACHE";
/// Environment variable that sets the delay before each kernel of the simulated device, in
/// microseconds unless it has a unit.
inline constexpr char kSimLaunchDelayVariable[] = "HIGHWATER_SIM_LAUNCH_DELAY";
/// Environment variable that sets how many times as long a kernel of the simulated device takes.
inline constexpr char kSimSlowdownVariable[] = "HIGHWATER_SIM_SLOWDOWN";
/// Environment variable that lists ops for which the simulated device has no kernel, beside those
/// that MPS lacks.
inline constexpr char kSimMissingOpsVariable[] = "HIGHWATER_SIM_MISSING_OPS";
/// Environment variable that sets the number N of the allocation that the simulated device
/// refuses, counted from 1.
inline constexpr char kSimOutOfMemoryAtVariable[] = "HIGHWATER_SIM_OOM_AT";
/// Environment variable that sets the number N of the kernel before which the simulated device's
/// queue stops for ever, counted from 1.
inline constexpr char kSimHangAtVariable[] = "HIGHWATER_SIM_HANG_AT";
/// Environment variable that sets the number N of the kernel before which the simulated device
/// aborts the process, counted from 1.
inline constexpr char kSimCrashAtVariable[] = "HIGHWATER_SIM_CRASH_AT";
/// Environment variable that sets whether the simulated device runs ops asynchronously ("async") or
/// each op waits until it is done ("sync").
inline constexpr char kSimQueueVariable[] = "HIGHWATER_SIM_QUEUE";
/// Environment variable that sets when the simulated device starts queued work: at once ("eager"),
/// or when it is committed ("deferred", or "deferred:N" to commit after every N ops as well).
inline constexpr char kSimCommitVariable[] = "HIGHWATER_SIM_COMMIT";
/// Environment variable that sets who takes the times of the simulated device's events: its queue
/// ("queue"), or a thread that is told of them late and in another order ("late").
inline constexpr char kSimNoticesVariable[] = "HIGHWATER_SIM_NOTICES";
/// Environment variable that sets what the simulated device holds under the high watermark: all of
/// driver memory ("heaps"), or what is requested ("requests"), as on a Mac.
inline constexpr char kSimLimitVariable[] = "HIGHWATER_SIM_LIMIT";
/// Environment variable that sets which C++ exception the simulated device throws when it is out of
/// memory: c10::OutOfMemoryError ("typed"), or c10::Error ("plain"), as on a Mac.
inline constexpr char kSimOutOfMemoryErrorVariable[] = "HIGHWATER_SIM_OOM_ERROR";
/// Environment variable that sets the file into which the simulated device writes a log of what it
/// really did (its ledger), as JSON Lines.
inline constexpr char kSimLedgerVariable[] = "HIGHWATER_SIM_LEDGER";
/// The prefix of all environment variables of the simulated device.
inline constexpr std::string_view kSimPrefix = "HIGHWATER_SIM_";

/// PyTorch's environment variable that makes ops without an MPS kernel run on the CPU.
inline constexpr char kMpsFallbackVariable[] = "PYTORCH_ENABLE_MPS_FALLBACK";
/// PyTorch's environment variable for the memory limit of MPS, as a multiple of the recommended
/// maximum: allocations beyond it fail.
inline constexpr char kMpsHighWatermarkVariable[] = "PYTORCH_MPS_HIGH_WATERMARK_RATIO";
/// PyTorch's environment variable for the multiple of the recommended maximum beyond which MPS
/// releases cached memory.
inline constexpr char kMpsLowWatermarkVariable[] = "PYTORCH_MPS_LOW_WATERMARK_RATIO";
/// PyTorch's environment variable that makes the MPS allocator print what it does. Its value is a
/// sum of bits.
inline constexpr char kMpsDebugVariable[] = "PYTORCH_DEBUG_MPS_ALLOCATOR";

/// Describes a setting of the device: the environment variable that the worker process reads, and
/// the option of `highwater` that sets it.
struct SimKnob {
  /// Which devices read the setting.
  enum class Scope : std::uint8_t {
    Simulated,  ///< only the simulated device reads it
    PyTorch     ///< PyTorch defines it: real MPS reads it too
  };
  const char* variable;
  const char* option;        ///< empty: only the variable sets it
  const char* metavar;       ///< the value's name in the help; empty: a flag, which sets 1
  const char* defaultValue;  ///< in words, for the help
  const char* help;
  Scope scope = Scope::Simulated;
};

/// All settings of the simulated device and of MPS that the environment makes. The command line's
/// options, the simulated device and the table in docs/simulated-mps.md are made from this list.
inline constexpr std::array kSimKnobs = {
    SimKnob{kSimRecommendedVariable, "--sim-recommended-max", "BYTES", "75 % of the system memory",
            "Recommended max working set, 16MiB to 1024GiB"},
    SimKnob{kSimSystemVariable, "--sim-system-memory", "BYTES", "this machine's",
            "Memory of the simulated machine, 32MiB to 1024GiB"},
    SimKnob{kSimOtherVariable, "--sim-other-memory", "BYTES", "none",
            "Memory that other applications use; or a script of it by seconds since the start, for "
            "example 0s:2GiB,30s:10GiB; or file:PATH, a file that holds a size and may change"},
    SimKnob{
        kSimThermalVariable, "--sim-thermal", "STATE", "nominal",
        "Thermal state of the simulated machine: nominal, fair, serious or critical; or a script "
        "of it by seconds since the start, for example 0s:nominal,30s:serious"},
    SimKnob{kSimLowPowerVariable, "--sim-low-power", "", "off",
            "The simulated machine is in Low Power Mode"},
    SimKnob{kSimHiddenGrowthVariable, "--sim-hidden-growth", "BYTES", "0",
            "Memory outside of driver memory that the process gains each step, up to 1024GiB"},
    SimKnob{kSimGraphCacheVariable, "--sim-graph-cache", "BYTES", "0",
            "Driver memory gained for each new combination of op and shapes, up to 1024GiB"},
    SimKnob{kSimLaunchDelayVariable, "--sim-launch-delay", "TIME", "0",
            "Delay before each kernel: microseconds, or a number with us or ms; up to 1000ms"},
    SimKnob{kSimSlowdownVariable, "--sim-slowdown", "FACTOR", "1",
            "A kernel takes this many times as long, 1 to 1000"},
    SimKnob{kSimMissingOpsVariable, "--sim-missing-ops", "OP,...", "none",
            "More ops without an MPS kernel, for example gelu,aten::cumsum"},
    SimKnob{kSimOutOfMemoryAtVariable, "--sim-oom-at", "N", "never",
            "Refuse the N-th allocation of the device"},
    SimKnob{kSimHangAtVariable, "--sim-hang-at", "N", "never",
            "Stop the queue for ever before its N-th kernel"},
    SimKnob{kSimCrashAtVariable, "--sim-crash-at", "N", "never",
            "Abort the process before its N-th kernel"},
    SimKnob{kSimQueueVariable, "--sim-queue", "MODE", "async",
            "async, or sync: each op waits until the device has finished it"},
    SimKnob{kSimCommitVariable, "--sim-commit", "MODE", "eager",
            "eager: queued ops start at once; deferred[:N]: they start at a wait, a copy between "
            "host and device or an event, or after N ops (500)"},
    SimKnob{kSimNoticesVariable, "--sim-notices", "MODE", "queue",
            "queue: an event's time is that of the queue; late: another thread takes it up to "
            "0.2 ms later, and not always in the order of the events"},
    SimKnob{kSimLimitVariable, "--sim-limit", "MODE", "heaps",
            "heaps: driver memory never exceeds the high watermark; requests: only a request is "
            "compared with it, and its heap may exceed it"},
    SimKnob{kSimOutOfMemoryErrorVariable, "--sim-oom-error", "TYPE", "typed",
            "Exception for out of memory: typed (c10::OutOfMemoryError) or plain (c10::Error)"},
    SimKnob{kSimLedgerVariable, "--sim-ledger", "FILE", "none",
            "Write the device's ledger as JSON Lines; %p in the name becomes the process id"},
    SimKnob{kMpsFallbackVariable, "--fallback", "", "off",
            "Run ops without an MPS kernel on the CPU; without it they are an error",
            SimKnob::Scope::PyTorch},
    SimKnob{kMpsHighWatermarkVariable, "--high-watermark", "RATIO", "1.7",
            "Allocations past this multiple of recommended fail, 0 (no limit) to 2",
            SimKnob::Scope::PyTorch},
    SimKnob{kMpsLowWatermarkVariable, "--low-watermark", "RATIO", "1.4",
            "Past this multiple of recommended cached memory is collected, 0 (off) to the high "
            "watermark",
            SimKnob::Scope::PyTorch},
    SimKnob{
        kMpsDebugVariable, "", "BITS", "0",
        "Sum of what MPS prints on stderr: 1 profile, 2 allocations, 4 recycling, 8 releases; 16: "
        "large blocks only; the simulated device prints nothing",
        SimKnob::Scope::PyTorch},
};

}  // namespace highwater
