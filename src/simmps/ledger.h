#pragma once

#include <cstdint>
#include <string_view>

namespace highwater::simmps {

/// Why a host thread waited for the device.
enum class DrainCause : std::uint8_t {
  Synchronize,   ///< torch.mps.synchronize(), a stream's or a device's
  Event,         ///< an event's synchronize() or elapsed_time()
  ScalarRead,    ///< _local_scalar_dense: item(), bool(tensor)
  CopyToHost,    ///< a blocking copy to the CPU
  CopyToDevice,  ///< a blocking copy from the CPU
  ResultSize,    ///< the op's result is sized by values: nonzero, unique, masked_select
  NoShape,       ///< only here: the op has no shape function, so the host waits for its result
  Release,       ///< memory goes back to the system, which jobs may still use
  QueueFull,     ///< the host is as far ahead as the queue allows
  Generator,     ///< the random generator's state was read or set
  Exit           ///< the process ends
};
/// "synchronize", "scalar_read"...: as the ledger's file writes it.
[[nodiscard]] std::string_view nameOf(DrainCause cause);
/// Nanoseconds of the machine's monotonic clock, as all times of the ledger.
[[nodiscard]] std::uint64_t deviceClockNs();

/// A change of the device's memory, and the counters after it. Times are the monotonic clock's in
/// ns, sizes bytes.
struct MemoryEntry {
  enum class Kind : std::uint8_t {
    Allocate,       ///< a block was handed out; bytes is its aligned size
    Free,           ///< a block went back to its pool
    ReserveHeap,    ///< a heap was reserved
    ReleaseHeap,    ///< a heap went back to the system
    GraphCache,     ///< what MPSGraph would hold for a new combination of op and shapes
    ReleaseGraphs,  ///< all of that was given back
    OutOfMemory     ///< a request was refused; bytes is what was asked for
  };
  Kind kind = Kind::Allocate;
  std::uint64_t timeNs = 0;
  std::uint64_t address = 0;  ///< of the block or heap; 0 where there is none
  std::uint64_t bytes = 0;
  std::uint64_t requestedBytes = 0;  ///< before alignment; 0 but for Allocate and OutOfMemory
  std::uint64_t currentBytes = 0;
  std::uint64_t driverBytes = 0;
};
/// "allocate", "free"...
[[nodiscard]] std::string_view nameOf(MemoryEntry::Kind kind);

/// One job of the queue. A job that was skipped after a failure has startNs = endNs = 0.
struct KernelEntry {
  std::string_view op;
  std::uint64_t enqueuedNs = 0;
  std::uint64_t startNs = 0;
  std::uint64_t endNs = 0;
};

/// A wait of the host, also one that found the queue idle. `op` may be empty.
struct DrainEntry {
  DrainCause cause = DrainCause::Synchronize;
  std::string_view op;
  std::uint64_t beginNs = 0;
  std::uint64_t endNs = 0;
  /// The process's call into the device that it was a part of, as the calling thread saw it: with
  /// what comes before and after the wait, and the time in which the thread had lost its core. As
  /// beginNs and endNs where the call is nothing but the wait.
  std::uint64_t callNs = 0;
  std::uint64_t returnNs = 0;
};

/// An op that ran on the CPU because the device has no kernel for it.
struct FallbackEntry {
  std::string_view op;  ///< with overload: aten::kthvalue.values
  std::uint64_t beginNs = 0;
  std::uint64_t endNs = 0;
  std::uint64_t bytesToCpu = 0;
  std::uint64_t bytesToDevice = 0;
};

/// An event that the queue passed. Recording one does not make the host wait.
struct EventEntry {
  std::uint64_t recordedNs = 0;
  std::uint64_t passedNs = 0;
};

/// The device stops: as a knob of the simulation asked for.
struct FaultEntry {
  enum class Kind : std::uint8_t { Hang, Crash };
  Kind kind = Kind::Hang;
  std::string_view op;       ///< the kernel that does not run any more
  std::uint64_t kernel = 0;  ///< its number, counted from 1
  std::uint64_t timeNs = 0;
};

/// The device's own account, made inside it and not by any observer: the truth that the profiler is
/// checked against. Called from any thread, in the order in which things happened to one object
/// (the allocator's entries are in the order of its changes, the queue's in the order it ran jobs).
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual void add(const MemoryEntry& entry) = 0;
  virtual void add(const KernelEntry& entry) = 0;
  virtual void add(const DrainEntry& entry) = 0;
  virtual void add(const FallbackEntry& entry) = 0;
  // Of another name, so that who keeps only what it checks need not name these.
  virtual void addEvent(const EventEntry&) {}
  virtual void addFault(const FaultEntry&) {}
  /// Brings what was added to where it outlives the process.
  virtual void flush() {}
};

}  // namespace highwater::simmps
