#pragma once

#include <string_view>
#include <utility>

#include "simmps/device_queue.h"
#include "simmps/heap_allocator.h"
#include "simmps/ledger.h"
#include "simmps/settings.h"

namespace highwater::simmps {

/// Makes the process's one device; called once, before anything below.
void createDevice(const Settings& settings);

const Settings& deviceSettings();
/// Both live until the process ends: libtorch's own statics may outlive ours.
DeviceQueue& deviceQueue();
HeapAllocator& deviceMemory();

/// The device's own account; null where none is kept.
Ledger* deviceLedger();

/// Blocks until the device is idle, for an op's sake or none's. Throws what the first failed job
/// threw, with its op's name as context.
void drainDevice(DrainCause cause, std::string_view op = {});

/// Runs a job on the device, after all earlier ones. It must not touch Python objects and must own
/// what it uses, except device memory. With HIGHWATER_SIM_QUEUE=sync returns when it is over.
template <typename Job>
void submitJob(std::string_view op, Job&& job) {
  deviceQueue().submit(op, std::forward<Job>(job));
  if (!deviceSettings().asynchronous) drainDevice(DrainCause::Synchronize, op);
}

}  // namespace highwater::simmps
