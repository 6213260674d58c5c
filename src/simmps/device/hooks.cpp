#include "simmps/device/hooks.h"

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "simmps/device/allocator.h"
#include "simmps/device/device.h"
#include "simmps/device/generator.h"
#include "simmps/device/op_graphs.h"
#include "simmps/policy/process_fork.h"
#include "simmps/torch_version.h"

namespace highwater::simmps {
namespace {

/// Events by torch::mps's ids, with PyTorch's errors (MPSEvent.mm) for misuse.
class EventTable {
 public:
  struct Entry {
    std::shared_ptr<DeviceEvent> event = std::make_shared<DeviceEvent>();
    bool timing = false;
    bool recorded = false;
  };

  std::uint32_t acquire(bool timing) {
    const std::lock_guard lock(mutex_);
    entries_.emplace(next_, Entry{.timing = timing});
    return next_++;
  }
  void release(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    TORCH_CHECK(entries_.erase(id) > 0, "Invalid Event ID: ", id);
  }
  Entry at(std::uint32_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    TORCH_CHECK(found != entries_.end(), "Invalid Event ID: ", id);
    return found->second;
  }
  void record(std::uint32_t id) {
    deviceQueue().record(at(id).event);
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(id); found != entries_.end()) {
      found->second.recorded = true;
    }
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Entry> entries_;
  std::uint32_t next_ = 1;
  const ForkSteps fork_{ForkOrder::Events, mutex_};
};

EventTable& events() {
  static auto* const table = new EventTable;
  return *table;
}

struct Hooks final : at::MPSHooksInterface {
  void init() const override {}
  bool hasMPS() const override { return deviceExists(); }
#if HIGHWATER_TORCH_AT_LEAST(2, 7)
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return deviceExists();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return newGenerator();
  }
  c10::Device getDeviceFromPtr(void*) const override {
    return {c10::DeviceType::MPS, 0};
  }
#endif
  // Claims the newest macOS that PyTorch asks for, up to 2.15.
  bool isOnMacOSorNewer(unsigned major, unsigned minor) const override {
    if ((major >= 13 && major <= 15) || major == 26) return true;
    TORCH_WARN("Checking for unexpected MacOS ", major, ".", minor, " returning false");
    return false;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }

  c10::DeviceIndex deviceCount() const override {
    return deviceExists() ? 1 : 0;
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
  void commitStream() const override {
    deviceQueue().commit();
  }

  void emptyCache() const override {
    deviceMemory().emptyCache();
#if HIGHWATER_TORCH_AT_LEAST(2, 13)
    clearGraphs();
#endif
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

  std::uint32_t acquireEvent(bool timing) const override {
    return events().acquire(timing);
  }
  void releaseEvent(std::uint32_t id) const override {
    events().release(id);
  }
  void recordEvent(std::uint32_t id) const override {
    events().record(id);
  }
  void waitForEvent(std::uint32_t id) const override {
    if (!events().at(id).event->done()) deviceQueue().commit();
  }  // one serial stream: only the commit remains
  void synchronizeEvent(std::uint32_t id) const override {
    const auto event = events().at(id).event;
    if (!event->done()) drainDeviceUntil(*event);
  }
  bool queryEvent(std::uint32_t id) const override {
    const auto entry = events().at(id);
    return entry.recorded && entry.event->done();
  }
  // A Mac waits for ever for an event that was not recorded or has no timing; this throws.
  double elapsedTimeOfEvents(std::uint32_t start, std::uint32_t end) const override {
    const auto from = events().at(start), to = events().at(end);
    drainDevice(DrainCause::Event);
    TORCH_CHECK(from.timing && to.timing,
                "Events were not created with argument 'enable_timing=True'");
    TORCH_CHECK(from.recorded && to.recorded,
                "Both events must be recorded before calculating elapsed time.");
    waitForNotices(*from.event, *to.event);
    return elapsedMs(from.event->timeNs(), to.event->timeNs(), ' ' + std::to_string(start),
                     ' ' + std::to_string(end));
  }

  // As on a Mac: Tensor.pin_memory() fails, since the memory is the device's.
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return deviceAllocator();
  }
  bool isPinnedPtr(const void*) const override {
    return false;
  }

  void profilerStartTrace(const std::string&, bool) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false,
        "torch.mps.profiler traces with macOS's signposts, which the simulated mps device does not "
        "have; torch.profiler and Highwater work");
  }
  void profilerStopTrace() const override {}
};

constexpr char kHooksKey[] = "MPSHooks";

}  // namespace

bool mpsHooksExist() {
  return at::MPSHooksRegistry()->Has(kHooksKey);
}

bool registerHooks() {
  // In older versions the creator takes MPSHooksArgs.
  at::MPSHooksRegistry()->Register(kHooksKey, [](auto&&...) { return std::make_unique<Hooks>(); });
  return dynamic_cast<const Hooks*>(&at::detail::getMPSHooks()) != nullptr;
}

}  // namespace highwater::simmps
