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
  ResultSize,    ///< the size of the op's result depends on values: nonzero, unique, masked_select
  NoShape,       ///< simulated device only: the op has no shape function
  Release,       ///< memory is returned to the system, and jobs may still use it
  QueueFull,     ///< the queue is full
  Generator,     ///< the random generator's state was read or set
  Exit           ///< the process ends
};
/// Name of a cause in the file of FileLedger: "synchronize", "scalar_read"...
[[nodiscard]] std::string_view nameOf(DrainCause cause);
/// Reads the monotonic clock, in nanoseconds. All times that the simulated device reports are of
/// this clock.
[[nodiscard]] std::uint64_t deviceClockNs();

/// Ledger entry: a change of the device's memory, and the counters after it. Times in ns, sizes in
/// bytes.
struct MemoryEntry {
  /// What changed.
  enum class Kind : std::uint8_t {
    Allocate,       ///< a block was allocated; bytes is its aligned size
    Free,           ///< a block was freed
    ReserveHeap,    ///< a heap was reserved
    ReleaseHeap,    ///< a heap was returned to the system
    GraphCache,     ///< memory of a new compiled graph
    ReleaseGraphs,  ///< the memory of all graphs was released
    OutOfMemory     ///< a request was refused; bytes is its size
  };
  Kind kind = Kind::Allocate;
  std::uint64_t timeNs = 0;
  std::uint64_t address = 0;  ///< of the block or heap; 0: none
  std::uint64_t bytes = 0;
  std::uint64_t requestedBytes = 0;  ///< before alignment; 0 except for Allocate and OutOfMemory
  std::uint64_t currentBytes = 0;
  std::uint64_t driverBytes = 0;
};
/// Name of a kind in the file of FileLedger: "allocate", "free"...
[[nodiscard]] std::string_view nameOf(MemoryEntry::Kind kind);

/// Ledger entry: one kernel (job of the device's queue), with the times in ns at which it was
/// enqueued, started and ended. startNs and endNs are 0 if it was skipped after a failure.
struct KernelEntry {
  std::string_view op;
  std::uint64_t enqueuedNs = 0;
  std::uint64_t startNs = 0;
  std::uint64_t endNs = 0;
};

/// Ledger entry: a host thread waited for the device from beginNs to endNs, even if the queue was
/// idle. `op` is the op that waited, or empty. Times in ns.
struct DrainEntry {
  DrainCause cause = DrainCause::Synchronize;
  std::string_view op;
  std::uint64_t beginNs = 0;
  std::uint64_t endNs = 0;
  /// The call into the device that waited, from entry to return on the calling thread; includes
  /// time in which that thread was preempted. Equal to beginNs and endNs if the call was nothing
  /// but the wait.
  std::uint64_t callNs = 0;
  std::uint64_t returnNs = 0;
};

/// Ledger entry: an op ran on the CPU because it has no MPS kernel. Times in ns; the sizes are what
/// it copied between CPU and device.
struct FallbackEntry {
  std::string_view op;  ///< with overload: aten::kthvalue.values
  std::uint64_t beginNs = 0;
  std::uint64_t endNs = 0;
  std::uint64_t bytesToCpu = 0;
  std::uint64_t bytesToDevice = 0;
};

/// Ledger entry: the queue passed a DeviceEvent. Times in ns at which it was recorded and passed.
struct EventEntry {
  std::uint64_t recordedNs = 0;
  std::uint64_t passedNs = 0;
};

/// Ledger entry: a DeviceEvent that the queue had passed was noticed on another thread. Times in ns
/// at which it was recorded and noticed; the latter is the event's time.
struct NoticeEntry {
  std::uint64_t recordedNs = 0;
  std::uint64_t noticedNs = 0;
};

/// Ledger entry: a hang or crash that QueueKnobs asked for.
struct FaultEntry {
  /// Hang: the queue stops for ever. Crash: the process aborts.
  enum class Kind : std::uint8_t { Hang, Crash };
  Kind kind = Kind::Hang;
  std::string_view op;       ///< the kernel that did not run
  std::uint64_t kernel = 0;  ///< its number, counted from 1
  std::uint64_t timeNs = 0;
};

/// Receives the simulated device's record of what happened: allocations, kernels, waits, fallbacks,
/// events and faults. The device makes it itself, independent of any observer, so tests check the
/// profiler against it. Called from any thread. Entries about one object are in order: the
/// allocator's by its changes, the queue's by when jobs ran.
class Ledger {
 public:
  virtual ~Ledger() = default;
  /// Adds an entry about the allocator's memory. Called with the allocator's lock held.
  virtual void add(const MemoryEntry& entry) = 0;
  /// Adds a kernel that ended or was skipped.
  virtual void add(const KernelEntry& entry) = 0;
  /// Adds a wait of a host thread that has ended.
  virtual void add(const DrainEntry& entry) = 0;
  /// Adds an op that has run on the CPU.
  virtual void add(const FallbackEntry& entry) = 0;
  // Named differently from add(), so that a subclass need not override them.
  /// Adds an event that the queue passed; the default ignores it.
  virtual void addEvent(const EventEntry&) {}
  /// Adds a late notice of an event; the default ignores it.
  virtual void addNotice(const NoticeEntry&) {}
  /// Adds a hang or crash that is about to happen; the default ignores it.
  virtual void addFault(const FaultEntry&) {}
  /// Writes everything added so far to where it outlives the process; the default does nothing.
  virtual void flush() {}
};

}  // namespace highwater::simmps
