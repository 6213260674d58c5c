#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simmps/policy/device_queue.h"
#include "simmps/policy/file_ledger.h"
#include "simmps/policy/heap_allocator.h"
#include "simmps/policy/ledger.h"
#include "simmps/policy/settings.h"

namespace highwater::simmps {

/// Creates the process's simulated device: its queue, memory and ledger. Call once, before any
/// other function of this header. Returns an empty string, or one line for the user if the ledger's
/// file cannot be written.
std::string createDevice(const Settings& settings, const LedgerOrigin& origin);

/// True once createDevice() has succeeded. Without a device, all other functions of this header but
/// finishDevice() throw c10::Error.
bool deviceExists();

/// Runs all pending jobs, ends the device's thread and completes the ledger; exit() calls it too.
/// Later jobs run on the thread that submits them, or are dropped if the device hangs.
void finishDevice();

/// The settings that the device was created with. Throws c10::Error without a device.
const Settings& deviceSettings();
/// The device's queue of jobs. It lives until the process ends, since libtorch's statics may
/// outlive ours. Throws c10::Error without a device.
DeviceQueue& deviceQueue();
/// The device's memory allocator. It lives until the process ends. Throws c10::Error without a
/// device.
HeapAllocator& deviceMemory();

/// The device's own record of its allocations, kernels and waits, against which the profiler is
/// checked (see Ledger). Null unless HIGHWATER_SIM_LEDGER names a file for it.
Ledger* deviceLedger();

/// Blocks until all jobs submitted so far have ended, and enters the wait into the ledger with its
/// cause. `op` is the op that waits, if any. Throws the error of the first failed job, as
/// c10::Error or a class derived from it, with that job's op in the text.
void drainDevice(DrainCause cause, std::string_view op = {});

/// Blocks until the queue has passed the event; does not wait for later jobs. Throws the error of a
/// failed job before the event, as c10::Error or a class derived from it.
void drainDeviceUntil(const DeviceEvent& event);

/// Marks a call into the device that may wait, from construction to destruction. The ledger's
/// entries of waits inside it get the call's times (DrainEntry::callNs, returnNs). Of nested calls
/// the outermost counts. Does nothing without a ledger.
class DeviceCall {
 public:
  DeviceCall();
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  /// Adds a wait to the ledger, which must exist: when the thread's outermost DeviceCall ends, or
  /// at once outside of such calls.
  static void account(const DrainEntry& entry);

 private:
  std::uint64_t beginNs_ = 0;
  std::vector<DrainEntry> waits_;
  bool counts_ = false;
};

/// Queues a job on the device. The job must not touch Python objects and must own everything it
/// uses, except device memory. Blocks while the queue is full. With HIGHWATER_SIM_QUEUE=sync
/// returns when the job has ended, and throws its error as drainDevice() does.
template <typename Job>
void submitJob(std::string_view op, Job&& job) {
  deviceQueue().submit(op, std::forward<Job>(job));
  if (!deviceSettings().asynchronous) drainDevice(DrainCause::Synchronize, op);
}

/// Queues work that a GPU would not do, such as seeding the generator. It keeps its place among the
/// jobs, but is not counted, slowed down or recorded as a kernel. For the rest see submitJob().
template <typename Job>
void submitUpkeep(std::string_view op, Job&& job) {
  deviceQueue().submit(op, std::forward<Job>(job), DeviceQueue::JobKind::Upkeep);
  if (!deviceSettings().asynchronous) drainDevice(DrainCause::Synchronize, op);
}

/// Records in the ledger, if there is one, that an op ran on the CPU, from construction to
/// destruction.
class FallbackScope {
 public:
  explicit FallbackScope(std::string op);
  ~FallbackScope();
  FallbackScope(const FallbackScope&) = delete;
  FallbackScope& operator=(const FallbackScope&) = delete;

  /// Adds to the thread's innermost scope, if there is one, bytes copied from the device to the
  /// CPU.
  static void copiedToCpu(std::uint64_t bytes);
  /// Adds to the thread's innermost scope, if there is one, bytes copied from the CPU to the
  /// device.
  static void copiedToDevice(std::uint64_t bytes);

 private:
  std::string op_;
  FallbackEntry entry_;
  FallbackScope* const outer_;
};

/// Blocks until the times of two events are known that the queue has passed.
void waitForNotices(const DeviceEvent& start, const DeviceEvent& end);

/// Returns the milliseconds between the times of two recorded events. Throws PyTorch's error for
/// events in the wrong order; since 2.15 equal times are right. `startName` and `endName` follow
/// the word "event" in its text.
double elapsedMs(std::uint64_t startNs, std::uint64_t endNs, const std::string& startName,
                 const std::string& endName);

}  // namespace highwater::simmps
