#include "probe/readings/cuda_device.h"

#include <ATen/Context.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include "core/torch_version.h"
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
#include <ATen/DeviceAccelerator.h>
#endif

#include <exception>
#include <map>
#include <utility>

namespace highwater::probe {
namespace {

const c10::Device kDevice(c10::DeviceType::CUDA, 0);

class CudaCounters : public CounterSource {
 public:
  std::optional<DeviceCounters> read() override {
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
    try {
      const auto stats = at::accelerator::getDeviceStats(0);
      return DeviceCounters{static_cast<std::uint64_t>(stats.allocated_bytes[0].current),
                            static_cast<std::uint64_t>(stats.reserved_bytes[0].current),
                            totalBytes()};
    } catch (const std::exception&) {
      return std::nullopt;
    }
#else
    return std::nullopt;
#endif
  }

 private:
  static std::uint64_t totalBytes() {
#if HIGHWATER_TORCH_AT_LEAST(2, 10)
    static const std::uint64_t total = at::accelerator::getMemoryInfo(0).second;
    return total;
#else
    return 0;
#endif
  }
};

class CudaEvents : public EventSource {
 public:
  Id acquire() override {
    const Id id = next_++;
    events_.emplace(id, c10::Event(kDevice.type(), c10::EventFlag::BACKEND_DEFAULT));
    return id;
  }
  void release(Id event) override { events_.erase(event); }
  void record(Id event) override {
    events_.at(event).record(c10::impl::VirtualGuardImpl(kDevice.type()).getStream(kDevice));
  }
  bool passed(Id event) override { return events_.at(event).query(); }
  double elapsedMs(Id start, Id end) override {
    return events_.at(start).elapsedTime(events_.at(end));
  }

 private:
  Id next_ = 1;
  std::map<Id, c10::Event> events_;
};

}  // namespace

bool torchHasCuda() {
  return at::Context::hasCUDA();
}

bool cudaAvailable() {
  try {
    return torchHasCuda() && c10::impl::VirtualGuardImpl(kDevice.type()).deviceCount() > 0;
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<CounterSource> makeCudaCounters() {
  return std::make_unique<CudaCounters>();
}

std::unique_ptr<EventSource> makeCudaEvents() {
  return std::make_unique<CudaEvents>();
}

void synchronizeCuda() {
  const c10::impl::VirtualGuardImpl guard(kDevice.type());
  guard.synchronizeStream(guard.getStream(kDevice));
}

void emptyCudaCache() {
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
  at::accelerator::emptyCache();
#endif
}

}  // namespace highwater::probe
