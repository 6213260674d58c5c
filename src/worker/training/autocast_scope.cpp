#include "worker/training/autocast_scope.h"

#include <ATen/autocast_mode.h>
#include <ATen/detail/MPSHooksInterface.h>

namespace highwater::worker {

std::string whyNoPrecision(const DeviceReport& device, Precision precision) {
  if (precision == Precision::kFloat32) return {};
  const c10::DeviceType type = c10::Device(device.selected).type();
  if (!at::autocast::is_autocast_available(type)) {
    return "this PyTorch has no autocast for " + device.selected;
  }
  const bool isOld = type == c10::DeviceType::MPS && precision == Precision::kBFloat16 &&
                     !device.simulated && !at::detail::getMPSHooks().isOnMacOSorNewer(14, 0);
  return isOld ? "bfloat16 on MPS needs macOS 14 or later" : "";
}

AutocastScope::AutocastScope(const c10::Device& device, Precision precision)
    : device_(device.type()),
      on_(precision == Precision::kBFloat16 || precision == Precision::kFloat16) {
  if (!on_) return;
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::kFloat16 ? at::kHalf : at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!on_) return;
  // Outside of any scope the cache of casted parameters must be empty: the next step changes them.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, false);
}

}  // namespace highwater::worker
