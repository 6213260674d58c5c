#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simmps/device_queue.h"
#include "simmps/file_ledger.h"
#include "simmps/heap_allocator.h"
#include "simmps/ledger.h"
#include "simmps/settings.h"

namespace highwater::simmps {

/// Makes the process's one device; called once, before anything below. Empty, or one line that says
/// which setting cannot be met.
std::string createDevice(const Settings& settings, const LedgerOrigin& origin);

/// False before createDevice(), and where it could not make the device: everything below but
/// finishDevice() throws c10::Error then.
bool deviceExists();

/// Runs what is pending, ends the device's thread and completes the ledger; done at exit() too.
/// What is submitted later runs where it is submitted, or is dropped where the device hangs.
void finishDevice();

const Settings& deviceSettings();
/// Both live until the process ends: libtorch's own statics may outlive ours.
DeviceQueue& deviceQueue();
HeapAllocator& deviceMemory();

/// The device's own account; null where none is kept.
Ledger* deviceLedger();

/// Blocks until the device is idle, for an op's sake or none's. Throws what the first failed job
/// threw, as c10::Error or what derives from it, with its op's name.
void drainDevice(DrainCause cause, std::string_view op = {});

/// Blocks until the event has passed, whatever was submitted behind it. Throws as drainDevice()
/// does, but only for a job before the event.
void drainDeviceUntil(const DeviceEvent& event);

/// A call of the process into the device that may have to wait, from construction to destruction:
/// the ledger's entries of its waits say how long it took in all. Of nested ones the outermost
/// counts. Without a ledger it does nothing.
class DeviceCall {
 public:
  DeviceCall();
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  /// Adds the entry: when the thread's outermost call returns, now where there is none.
  static void account(const DrainEntry& entry);

 private:
  std::uint64_t beginNs_ = 0;
  std::vector<DrainEntry> waits_;
  bool counts_ = false;
};

/// Runs a job on the device, after all earlier ones. It must not touch Python objects and must own
/// what it uses, except device memory. With HIGHWATER_SIM_QUEUE=sync returns when it is over.
template <typename Job>
void submitJob(std::string_view op, Job&& job) {
  deviceQueue().submit(op, std::forward<Job>(job));
  if (!deviceSettings().asynchronous) drainDevice(DrainCause::Synchronize, op);
}

/// As submitJob(), for what is no work of a GPU: it is part of the order, but no kernel.
template <typename Job>
void submitUpkeep(std::string_view op, Job&& job) {
  deviceQueue().submit(op, std::forward<Job>(job), DeviceQueue::JobKind::Upkeep);
  if (!deviceSettings().asynchronous) drainDevice(DrainCause::Synchronize, op);
}

/// Accounts in the ledger for one op that runs on the CPU, from construction to destruction.
class FallbackScope {
 public:
  explicit FallbackScope(std::string op);
  ~FallbackScope();
  FallbackScope(const FallbackScope&) = delete;
  FallbackScope& operator=(const FallbackScope&) = delete;

  /// What a copy moved on this thread; counts for the innermost scope, if there is one.
  static void copiedToCpu(std::uint64_t bytes);
  static void copiedToDevice(std::uint64_t bytes);

 private:
  std::string op_;
  FallbackEntry entry_;
  FallbackScope* const outer_;
};

}  // namespace highwater::simmps
