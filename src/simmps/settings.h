#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "core/sim_knobs.h"
#include "simmps/heap_allocator.h"
#include "simmps/other_memory.h"

namespace highwater::simmps {

/// What the environment says about the simulated device, read once when the library is loaded.
struct Settings {
  MemoryLimits limits;
  /// Longest single buffer, as Metal's maxBufferLength: 75 % of the simulated machine's memory.
  std::uint64_t maxBufferBytes = 0;
  /// False: every op waits until the device has run it (HIGHWATER_SIM_QUEUE=sync).
  bool asynchronous = true;
  /// True: ops without an MPS kernel run on the CPU (PYTORCH_ENABLE_MPS_FALLBACK).
  bool cpuFallback = false;

  // Knobs of the simulation; the defaults change nothing.
  std::uint64_t systemBytes = 0;        ///< memory of the simulated machine
  OtherMemory otherMemory;              ///< what the machine's other applications use
  std::uint64_t hiddenGrowthBytes = 0;  ///< what the process grows by a step, outside of driver
  std::uint64_t graphCacheBytes = 0;    ///< driver grows by for a new combination of op and shapes
  std::uint64_t launchDelayNs = 0;      ///< added to each kernel, on the device's thread
  double slowdown = 1;                  ///< a kernel takes this many times as long, 1 or more
  /// Ops that lack a kernel besides those that really do: "aten::kthvalue" (all overloads) or
  /// "aten::kthvalue.values".
  std::vector<std::string> missingOps;
  std::uint64_t outOfMemoryAt = 0;   ///< the n-th allocation is refused, counted from 1; 0: none
  std::uint64_t hangAt = 0;          ///< the queue stops for ever at its n-th kernel; 0: never
  std::uint64_t crashAt = 0;         ///< the process aborts at the n-th kernel; 0: never
  std::string ledgerFile;            ///< empty: no ledger is kept
  std::uint32_t debugVerbosity = 0;  ///< bits of PYTORCH_DEBUG_MPS_ALLOCATOR
};

/// The process's environment. `value` is nullptr where a variable is not set; an empty one counts
/// as not set.
struct Environment {
  std::function<const char*(const char* name)> value;
  std::vector<std::string> names;  ///< of all variables; one of ours that nobody knows is refused
};
/// What this process was started with, or has set since: read at each call.
Environment processEnvironment();

/// What the settings are measured against.
struct Machine {
  std::uint64_t memoryBytes = 0;
  /// Whether the system gives so much address space; empty: it does.
  std::function<bool(std::uint64_t bytes)> canReserve = {};
};
/// The machine that this process runs on: all its memory, whoever uses it.
Machine thisMachine();

/// The settings, or one line that names the variable, its value and what is allowed. Whether
/// missingOps exist only libtorch knows.
std::variant<Settings, std::string> readSettings(const Environment& environment,
                                                 const Machine& machine);

}  // namespace highwater::simmps
