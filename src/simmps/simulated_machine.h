#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "simmps/other_memory.h"
#include "simmps/process_fork.h"

namespace highwater::simmps {

/// The levels of macOS's kern.memorystatus_vm_pressure_level.
enum class PressureLevel : std::uint8_t { Normal = 1, Warning = 2, Critical = 4 };

/// What uses the simulated machine's memory, in bytes.
struct MemoryDemand {
  std::uint64_t systemBytes = 0;  ///< the machine's memory
  std::uint64_t wiredBytes = 0;   ///< cannot be compressed or swapped: the GPU uses it
  std::uint64_t otherBytes = 0;   ///< everything else, of all processes
};

/// How the machine meets the demand.
struct MemoryState {
  std::uint64_t availableBytes = 0;  ///< what can still be had without compressing anything
  std::uint64_t swapUsedBytes = 0;
  PressureLevel pressure = PressureLevel::Normal;
};

/// A simple model of macOS's compressor at rest, with the kernel's own thresholds (xnu,
/// osfmk/vm/vm_compressor.h and vm_pageout.c, for a machine of more than 3 GiB). Let A be the
/// memory that is not wired and n the part of it that is not compressed.
/// - While the demand fits, nothing is compressed. What does not fit is compressed two to one
/// (Apple
///   names about half), which takes n down.
/// - Warning: n is under A / 2.0 (COMPACT_THRESHOLD).
/// - Swap: n is under A / 2.5 (SWAP_THRESHOLD). The kernel writes out what was not touched for a
///   while; that this is half of what is compressed from here on is an assumption of ours.
/// - Critical: n is under 1.2 A / 3.5 (SWAP_UNTHROTTLE_THRESHOLD). From here on all goes to swap.
/// Not modelled: that the kernel returns to a lower level later than it left it, caches of files,
/// and that compressing and swapping take time.
[[nodiscard]] MemoryState settleMemory(const MemoryDemand& demand);

/// The machine that the simulated device is in, as its operating system would see it.
class SimulatedMachine {
 public:
  /// All are called by read(), on its thread; bytes but for the time.
  struct Sources {
    std::function<std::uint64_t()> residentBytes;       ///< this process's, the arena's included
    std::function<std::uint64_t()> arenaResidentBytes;  ///< the part that driver counts
    std::function<std::uint64_t()> driverBytes;
    std::function<std::uint64_t()> nowNs;  ///< of a steady clock
  };
  struct Options {
    std::uint64_t systemBytes = 0;
    std::uint64_t hiddenGrowthBytes = 0;  ///< a step
    OtherMemory others;
  };
  struct Readings {
    std::uint64_t systemBytes = 0;
    std::uint64_t footprintBytes = 0;  ///< resident, the arena as driver, and the hidden growth
    std::uint64_t otherBytes = 0;      ///< other applications'
    MemoryState memory;
  };

  SimulatedMachine(Options options, Sources sources);

  /// A training step is over. Any thread.
  void endStep() { steps_.fetch_add(1, std::memory_order_relaxed); }
  /// Any thread.
  [[nodiscard]] Readings read();

 private:
  [[nodiscard]] std::uint64_t hiddenBytes() const;
  [[nodiscard]] std::uint64_t otherBytes();

  const Options options_;
  const Sources sources_;
  const std::uint64_t startNs_;
  std::atomic<std::uint64_t> steps_{0};
  std::mutex mutex_;
  std::uint64_t lastFileBytes_;  ///< while the file is being replaced, the number before holds
  const ForkSteps fork_{ForkOrder::Machine, mutex_};
};

/// Resident size of this process in bytes; 0 where /proc does not tell.
[[nodiscard]] std::uint64_t residentProcessBytes();

}  // namespace highwater::simmps
