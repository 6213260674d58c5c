#include "simmps/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <string>
#include <thread>

namespace highwater::simmps {
namespace {

/// Keeps libgomp from busy-waiting. While a process has no more OpenMP threads than the machine has
/// cores, idle members of a team spin; when anything else wants those cores, each parallel region
/// then lasts until the scheduler steps in (2 busy cores: 1.9 s a step instead of 0.17 s). A second
/// team that never works puts the process over that count. OMP_WAIT_POLICY=passive does the same,
/// but only where it is set before libgomp is loaded.
void parkSecondTeam() {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  std::promise<void> opened;
  auto isOpen = opened.get_future();
  std::thread([&opened] {
    ::pthread_setname_np(::pthread_self(), "parked team");
    {
      const at::NoGradGuard noGrad;
      const at::DisableRecordFunctionGuard unobserved;
      // at::parallel_for() of a header compiled without OpenMP would open no team; libtorch's does.
      at::zeros({4 * at::internal::GRAIN_SIZE}).add_(1);
    }
    opened.set_value();
    for (;;) ::pause();
  }).detach();
  isOpen.wait();
}

struct Device {
  Settings settings;
  DeviceQueue queue;
  HeapAllocator memory;

  explicit Device(const Settings& from)
      : settings(from), queue(onDeviceThread), memory(from.limits, memoryOptions()) {}

  MemoryOptions memoryOptions() {
    MemoryOptions options;
    options.jobs.submitted = [this] { return queue.submitted(); };
    options.jobs.finished = [this] {
      // Too low where jobs come in between the two calls, as it may be.
      const std::uint64_t submitted = queue.submitted(), pending = queue.pending();
      return submitted < pending ? 0 : submitted - pending;
    };
    options.jobs.wait = [this] { queue.wait(); };
    options.ledger = deviceLedger();
    options.log = MemoryLog(settings.debugVerbosity);
    options.outOfMemoryAt = settings.outOfMemoryAt;
    return options;
  }

  // The device computes with CPU kernels below autograd, and no observer sees them: to the process
  // they are what a GPU does.
  static void onDeviceThread(const std::function<void()>& loop) {
    const at::AutoDispatchBelowADInplaceOrView belowAutograd;
    const at::NoGradGuard noGrad;
    const at::DisableRecordFunctionGuard unobserved;
    // The thread count that the process has set; all parallel work of the device happens on this
    // one thread, so there is one OpenMP team for it.
    at::init_num_threads();
    ::pthread_setname_np(::pthread_self(), "simulated mps");
    parkSecondTeam();
    loop();
  }
};

Device* gDevice = nullptr;

}  // namespace

void createDevice(const Settings& settings) {
  gDevice = new Device(settings);
  // Jobs must not run while the statics that they use are torn down.
  std::atexit([] { gDevice->queue.stop(); });
}

const Settings& deviceSettings() {
  return gDevice->settings;
}
DeviceQueue& deviceQueue() {
  return gDevice->queue;
}
HeapAllocator& deviceMemory() {
  return gDevice->memory;
}

Ledger* deviceLedger() {
  return nullptr;
}

void drainDevice(DrainCause, std::string_view) {
  auto failure = gDevice->queue.drain();
  if (!failure) return;
  try {
    std::rethrow_exception(failure->error);
  } catch (c10::Error& error) {
    error.add_context("by " + failure->op + ", which the simulated mps device ran earlier");
    throw;
  }
}

}  // namespace highwater::simmps
