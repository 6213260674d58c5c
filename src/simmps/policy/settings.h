#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "core/sim_knobs.h"
#include "simmps/policy/heap_allocator.h"
#include "simmps/policy/other_memory.h"
#include "simmps/policy/thermal_states.h"

namespace highwater::simmps {

/// The simulated device's settings, read from the environment when the library is loaded.
struct Settings {
  AllocatorLimits limits;
  /// Largest single buffer, like Metal's maxBufferLength: 75 % of the simulated machine's memory.
  std::uint64_t maxBufferBytes = 0;
  /// False: every op waits until the device has run it (HIGHWATER_SIM_QUEUE=sync).
  bool asynchronous = true;
  /// Kernels after which encoded work is committed without a wait, a copy or an event; 0: each
  /// starts at once (HIGHWATER_SIM_COMMIT).
  std::uint64_t commitAfter = 0;
  /// The times of events are taken late, on another thread, and not in their order
  /// (HIGHWATER_SIM_NOTICES=late).
  bool lateNotices = false;
  /// The high watermark limits requests, not heaps and graphs (HIGHWATER_SIM_LIMIT=requests).
  bool limitsRequestsOnly = false;
  /// Out of memory is a plain c10::Error (HIGHWATER_SIM_OOM_ERROR=plain).
  bool plainOutOfMemory = false;
  /// True: ops without an MPS kernel run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK).
  bool cpuFallback = false;

  // Knobs of the simulation; the defaults change nothing.
  std::uint64_t systemBytes = 0;        ///< memory of the simulated machine
  OtherMemory otherMemory;              ///< memory of the machine's other applications
  ThermalStates thermalStates;          ///< of the machine
  bool lowPower = false;                ///< the machine is in Low Power Mode
  std::uint64_t hiddenGrowthBytes = 0;  ///< growth of the process per step, outside of driver
  std::uint64_t graphCacheBytes = 0;    ///< of each graph: a combination of op and shapes
  std::uint64_t launchDelayNs = 0;      ///< added to each kernel, on the device's thread
  double slowdown = 1;                  ///< factor on the duration of each kernel, 1 or more
  /// Ops without a kernel, besides those that really lack one: "aten::kthvalue" (all overloads) or
  /// "aten::kthvalue.values".
  std::vector<std::string> missingOps;
  std::uint64_t outOfMemoryAt = 0;  ///< refuses the n-th allocation, counted from 1; 0: none
  std::uint64_t hangAt = 0;         ///< the queue hangs at its n-th kernel; 0: never
  std::uint64_t crashAt = 0;        ///< the process aborts at the n-th kernel; 0: never
  std::string ledgerFile;           ///< empty: no ledger is kept
};

/// Access to environment variables, for readSettings(). `value` returns nullptr for a variable that
/// is not set; an empty value counts as not set.
struct Environment {
  std::function<const char*(const char* name)> value;
  std::vector<std::string> names;  ///< of all variables; an unknown HIGHWATER_SIM_ name is refused
};
/// This process's environment, read at each call.
Environment processEnvironment();

/// Properties of the machine against which readSettings() checks settings.
struct Machine {
  std::uint64_t memoryBytes = 0;
  /// True if the process can reserve this much address space; empty: it can.
  std::function<bool(std::uint64_t bytes)> canReserve = {};
};
/// Describes this machine; memoryBytes is all of its memory, used or not.
Machine thisMachine();

/// Reads and checks the simulated device's settings. If one is invalid, returns instead a line that
/// names the variable, its value and what is allowed. Does not check missingOps, which needs
/// libtorch: see missingOpsProblem().
std::variant<Settings, std::string> readSettings(const Environment& environment,
                                                 const Machine& machine);

}  // namespace highwater::simmps
