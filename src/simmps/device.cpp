#include "simmps/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <cstdlib>
#include <string>

namespace highwater::simmps {
namespace {

struct Device {
  Settings settings;
  DeviceQueue queue;
  HeapAllocator memory;

  explicit Device(const Settings& from)
      : settings(from), queue(onDeviceThread), memory(from.limits, [this] { queue.wait(); }) {}

  // The device computes with CPU kernels below autograd, and no observer sees them: to the process
  // they are what a GPU does.
  static void onDeviceThread(const std::function<void()>& loop) {
    const at::AutoDispatchBelowADInplaceOrView belowAutograd;
    const at::NoGradGuard noGrad;
    const at::DisableRecordFunctionGuard unobserved;
    // The thread count that the process has set; all parallel work of the device happens on this
    // one thread, so there is one OpenMP team for it.
    at::init_num_threads();
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

void drainDevice() {
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
