#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <memory>

#include "simmps/device/allocator.h"
#include "simmps/device/device.h"
#include "simmps/device/hooks.h"

namespace highwater::simmps {
namespace {

/// One device with one stream. NoOpDeviceGuardImpl would report device index -1. The noexcepts
/// match libtorch 2.6.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::MPS; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
  c10::Stream getDefaultStream(c10::Device) const override { return getStream(kDevice); }
  c10::Stream getNewStream(c10::Device, int) const override { return getStream(kDevice); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return getStream(kDevice); }
  bool queryStream(const c10::Stream&) const override {
    deviceQueue().commit();  // or a loop that asks would never end
    return deviceQueue().pending() == 0;
  }
  void synchronizeStream(const c10::Stream&) const override {
    drainDevice(DrainCause::Synchronize);
  }
  void synchronizeDevice(const c10::DeviceIndex) const override {
    drainDevice(DrainCause::Synchronize);
  }

  // Behind the void pointer of torch::Event.
  using SharedEvent = std::shared_ptr<DeviceEvent>;
  void record(void** event, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (!*event) *event = new SharedEvent(std::make_shared<DeviceEvent>());
    deviceQueue().record(*static_cast<SharedEvent*>(*event));
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void* event) const override {
    return !event || (*static_cast<SharedEvent*>(event))->done();
  }
  void synchronizeEvent(void* event) const override {
    if (!queryEvent(event)) drainDeviceUntil(**static_cast<SharedEvent*>(event));
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<SharedEvent*>(event);
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    const DeviceEvent& from = **static_cast<SharedEvent*>(start);
    const DeviceEvent& to = **static_cast<SharedEvent*>(end);
    drainDevice(DrainCause::Event);
    waitForNotices(from, to);
    return elapsedMs(from.timeNs(), to.timeNs(), "", "");
  }
};

}  // namespace

void registerGuard() {
  static const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::MPS, new Guard);
}

}  // namespace highwater::simmps
