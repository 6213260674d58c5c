#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "simmps/policy/other_memory.h"
#include "simmps/policy/process_fork.h"
#include "simmps/policy/thermal_states.h"

namespace highwater::simmps {

/// How short of memory a machine is, with the values of macOS's
/// kern.memorystatus_vm_pressure_level.
enum class PressureLevel : std::uint8_t { Normal = 1, Warning = 2, Critical = 4 };

/// How much memory the simulated machine has and how much of it is in use, in bytes: the input of
/// settleMemory().
struct MemoryDemand {
  std::uint64_t systemBytes = 0;  ///< the machine's memory
  std::uint64_t wiredBytes = 0;   ///< used by the GPU; cannot be compressed or swapped
  std::uint64_t otherBytes = 0;   ///< everything else, of all processes
};

/// How the simulated machine copes with a MemoryDemand: the result of settleMemory(), in bytes.
struct MemoryState {
  std::uint64_t availableBytes = 0;   ///< available without compressing anything
  std::uint64_t compressorBytes = 0;  ///< memory that compressed pages occupy
  std::uint64_t swapUsedBytes = 0;
  PressureLevel pressure = PressureLevel::Normal;
};

/// Computes available memory, swap use and pressure level under a demand. Never fails. It is a
/// simple model of macOS's memory compressor at rest, with the kernel's thresholds (xnu,
/// osfmk/vm/vm_compressor.h and vm_pageout.c, for machines of more than 3 GiB). Let A be the memory
/// that is not wired and n the part of it that is not compressed.
/// - Demand that fits is not compressed. The rest is compressed two to one (Apple names about
///   half), which reduces n.
/// - Warning: n is below A / 2.0 (COMPACT_THRESHOLD).
/// - Swap: n is below A / 2.5 (SWAP_THRESHOLD). The kernel writes out what was not touched for a
///   while; we assume half of what is compressed from here on.
/// - Critical: n is below 1.2 A / 3.5 (SWAP_UNTHROTTLE_THRESHOLD). From here on all goes to swap.
///
/// Not modelled: hysteresis between levels, file caches, and the time that compressing and swapping
/// take.
[[nodiscard]] MemoryState settleMemory(const MemoryDemand& demand);

/// Simulates the readings of the Mac around the simulated device: this process's footprint, other
/// applications, available memory, compressor, swap and pressure; thermal state and Low Power Mode
/// as the settings say. Thread-safe.
class SimulatedMachine {
 public:
  /// Functions that supply the real readings. read() calls them on its own thread. All return bytes
  /// except nowNs.
  struct Sources {
    std::function<std::uint64_t()>
        residentBytes;  ///< resident size of this process, the arena included
    std::function<std::uint64_t()> arenaResidentBytes;  ///< the part of it that driver counts
    std::function<std::uint64_t()> driverBytes;
    std::function<std::uint64_t()> nowNs;  ///< steady clock
  };
  /// Settings of the machine.
  struct Options {
    std::uint64_t systemBytes = 0;        ///< memory of the machine
    std::uint64_t hiddenGrowthBytes = 0;  ///< growth of this process per step, outside of driver
    OtherMemory others;                   ///< memory of other applications
    ThermalStates thermalStates = {};
    bool lowPower = false;  ///< Low Power Mode is on. It changes no speed: HIGHWATER_SIM_SLOWDOWN
  };
  /// Result of read(), in bytes.
  struct Readings {
    std::uint64_t systemBytes = 0;
    std::uint64_t footprintBytes = 0;  ///< of this process: host, driver and hidden growth
    std::uint64_t otherBytes = 0;      ///< memory of other applications
    MemoryState memory;
    /// Swap traffic up to this reading: what swap use grew between two readings was written, what
    /// it shrank was read.
    std::uint64_t swappedInBytes = 0, swappedOutBytes = 0;
    std::uint64_t gpuBytes = 0;  ///< used by the GPU: driver memory of this process
    ThermalLevel thermal = ThermalLevel::Nominal;
    bool lowPower = false;
  };

  /// Starts the time of the script in `options.others`. Calls sources.nowNs().
  SimulatedMachine(Options options, Sources sources);

  /// Counts a training step, so that the footprint grows by hiddenGrowthBytes. Any thread.
  void endStep() { steps_.fetch_add(1, std::memory_order_relaxed); }
  /// Takes the readings of this moment. A file of other applications' memory that cannot be read
  /// counts with its last value. Any thread.
  [[nodiscard]] Readings read();

 private:
  [[nodiscard]] std::uint64_t hiddenBytes() const;
  [[nodiscard]] std::uint64_t otherBytes();

  const Options options_;
  const Sources sources_;
  const std::uint64_t startNs_;
  std::atomic<std::uint64_t> steps_{0};
  std::mutex mutex_;
  std::uint64_t lastFileBytes_;  ///< used while the file is being replaced
  std::optional<std::uint64_t> lastSwapBytes_;
  std::uint64_t swappedInBytes_ = 0, swappedOutBytes_ = 0;
  const ForkSteps fork_{ForkOrder::Machine, mutex_};
};

/// Resident size of this process in bytes; 0 if /proc cannot be read.
[[nodiscard]] std::uint64_t residentProcessBytes();

}  // namespace highwater::simmps
