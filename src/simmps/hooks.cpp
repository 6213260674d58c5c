#include "simmps/hooks.h"

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>

#include <map>
#include <memory>
#include <mutex>

#include "simmps/allocator.h"
#include "simmps/device.h"
#include "simmps/generator.h"
#include "simmps/torch_version.h"

namespace highwater::simmps {
namespace {

/// Events by the ids that torch::mps hands out.
class EventTable {
 public:
  std::uint32_t acquire() {
    const std::lock_guard lock(mutex_);
    events_.emplace(next_, std::make_shared<DeviceEvent>());
    return next_++;
  }
  void release(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    events_.erase(id);
  }
  std::shared_ptr<DeviceEvent> at(std::uint32_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(id);
    TORCH_CHECK(found != events_.end(), "MPS event ", id, " does not exist (was it released?)");
    return found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<DeviceEvent>> events_;
  std::uint32_t next_ = 1;
};

EventTable& events() {
  static auto* const table = new EventTable;
  return *table;
}

struct Hooks final : at::MPSHooksInterface {
  void init() const override {}
  bool hasMPS() const override { return true; }
#if HIGHWATER_TORCH_AT_LEAST(2, 7)
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return newGenerator();
  }
  c10::Device getDeviceFromPtr(void*) const override {
    return {c10::DeviceType::MPS, 0};
  }
#endif
  bool isOnMacOSorNewer(unsigned, unsigned) const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }

  c10::DeviceIndex deviceCount() const override {
    return 1;
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return 0;
  }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override {
    return 0;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override {
    return 0;
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return defaultGenerator();
  }
  c10::Allocator* getMPSDeviceAllocator() const override {
    return deviceAllocator();
  }

  void deviceSynchronize() const override {
    drainDevice(DrainCause::Synchronize);
  }
  void commitStream() const override {}  // jobs are with the device as soon as they are submitted

  void emptyCache() const override {
    deviceMemory().emptyCache();
  }
  std::size_t getCurrentAllocatedMemory() const override {
    return deviceMemory().counters().currentBytes;
  }
  std::size_t getDriverAllocatedMemory() const override {
    return deviceMemory().counters().driverBytes;
  }
  std::size_t getRecommendedMaxMemory() const override {
    return deviceMemory().limits().recommendedBytes;
  }
#if HIGHWATER_TORCH_AT_LEAST(2, 13)
  std::size_t getMaxBufferLength() const override {
    return deviceSettings().maxBufferBytes;
  }
#endif
  void setMemoryFraction(double ratio) const override {
    TORCH_CHECK(ratio >= 0.0 && ratio <= 2.0, "invalid high watermark ratio ", ratio);
    deviceMemory().setHighWatermarkRatio(ratio);
  }

  std::uint32_t acquireEvent(bool) const override {
    return events().acquire();
  }
  void releaseEvent(std::uint32_t id) const override {
    events().release(id);
  }
  void recordEvent(std::uint32_t id) const override {
    deviceQueue().record(events().at(id));
  }
  void waitForEvent(std::uint32_t id) const override {
    events().at(id);
  }  // one serial stream
  void synchronizeEvent(std::uint32_t id) const override {
    events().at(id);
    drainDevice(DrainCause::Event);
  }
  bool queryEvent(std::uint32_t id) const override {
    return events().at(id)->done();
  }
  double elapsedTimeOfEvents(std::uint32_t start, std::uint32_t end) const override {
    const auto from = events().at(start);
    const auto to = events().at(end);
    drainDevice(DrainCause::Event);
    TORCH_CHECK(from->timeNs() != 0 && to->timeNs() != 0,
                "Events were not recorded before their elapsed time was asked for.");
    return (static_cast<double>(to->timeNs()) - static_cast<double>(from->timeNs())) / 1e6;
  }
};

constexpr char kHooksKey[] = "MPSHooks";

}  // namespace

bool mpsHooksExist() {
  return at::MPSHooksRegistry()->Has(kHooksKey);
}

bool registerHooks() {
  // The creator takes MPSHooksArgs up to some 2.x, nothing later.
  at::MPSHooksRegistry()->Register(kHooksKey, [](auto&&...) { return std::make_unique<Hooks>(); });
  return at::detail::getMPSHooks().hasMPS();
}

}  // namespace highwater::simmps
