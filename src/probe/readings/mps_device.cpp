#include "probe/readings/mps_device.h"

#include <ATen/detail/MPSHooksInterface.h>
#include <torch/version.h>

#include "core/torch_version.h"
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
#include <ATen/DeviceAccelerator.h>
#endif

#include <exception>

namespace highwater::probe {
namespace {

class MpsCounters : public CounterSource {
 public:
  std::optional<DeviceCounters> read() override {
    try {
      const auto& hooks = at::detail::getMPSHooks();
      return DeviceCounters{hooks.getCurrentAllocatedMemory(), hooks.getDriverAllocatedMemory(),
                            hooks.getRecommendedMaxMemory()};
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
};

class MpsEvents : public EventSource {
 public:
  Id acquire() override { return hooks().acquireEvent(/*enable_timing=*/true); }
  void release(Id event) override { hooks().releaseEvent(event); }
  void record(Id event) override { hooks().recordEvent(event); }
  bool passed(Id event) override { return hooks().queryEvent(event); }
  double elapsedMs(Id start, Id end) override { return hooks().elapsedTimeOfEvents(start, end); }

 private:
  static const at::MPSHooksInterface& hooks() { return at::detail::getMPSHooks(); }
};

class MpsPeaks : public PeakSource {
 public:
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
  std::optional<DevicePeaks> read() override {
    try {
      const auto stats = at::accelerator::getDeviceStats(0);
      // Index 0 of a StatArray is the aggregate over all pools.
      const auto& allocated = stats.allocated_bytes[0];
      const auto& reserved = stats.reserved_bytes[0];
      if (allocated.peak <= 0 || allocated.current < 0 || reserved.peak < 0) return std::nullopt;
      return DevicePeaks{static_cast<std::uint64_t>(allocated.peak),
                         static_cast<std::uint64_t>(reserved.peak),
                         static_cast<std::uint64_t>(allocated.current)};
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  void reset() override {
    try {
      at::accelerator::resetPeakStats(0);
    } catch (const std::exception&) {
      // A device without statistics; read() returns nullopt for it.
    }
  }
#else
  std::optional<DevicePeaks> read() override {
    return std::nullopt;
  }
  void reset() override {}
#endif
};

}  // namespace

bool mpsAvailable() {
  try {
    return at::detail::getMPSHooks().hasMPS();
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<CounterSource> makeMpsCounters() {
  return std::make_unique<MpsCounters>();
}

std::unique_ptr<EventSource> makeMpsEvents() {
  return std::make_unique<MpsEvents>();
}

std::unique_ptr<PeakSource> makeMpsPeaks() {
  return std::make_unique<MpsPeaks>();
}

void synchronizeDevice(Recorder& recorder) {
  const NameId name = recorder.names().intern("torch::mps::synchronize").id;
  ThreadLane& lane = recorder.lane();
  const std::int64_t beginNs = recorder.now();
  {
    const OpenSpanScope open(lane.openSpans(), beginNs, name);
    at::detail::getMPSHooks().deviceSynchronize();  // throws if queued work has failed
  }
  const std::int64_t lengthNs = Recorder::lengthNs(beginNs, recorder.now());
  if (recorder.level() == events::ProbeLevel::Off) return;
  const CallSiteId site = recorder.callSites().here(__builtin_return_address(0));
  recorder.record([&](std::int64_t /*nowNs*/) {
    return events::SyncPoint(beginNs, lengthNs, 0, recorder.step(), name, recorder.currentModule(),
                             site, lane.id(), events::SyncKind::Synchronize, recorder.phase(),
                             static_cast<std::uint8_t>(recorder.deliberate()));
  });
}

void waitForDevice() {
  at::detail::getMPSHooks().deviceSynchronize();
}

void emptyDeviceCache() {
  at::detail::getMPSHooks().emptyCache();
}

void setMemoryFraction(double fraction) {
  at::detail::getMPSHooks().setMemoryFraction(fraction);
}

}  // namespace highwater::probe
