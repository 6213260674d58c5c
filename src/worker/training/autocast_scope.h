#pragma once

#include <c10/core/Device.h>

#include <string>

#include "core/messages.h"

namespace highwater::worker {

/// Says why the device cannot compute in `precision` by autocast, in one sentence without a full
/// stop. Empty where it can.
[[nodiscard]] std::string whyNoPrecision(const DeviceReport& device, Precision precision);

/// Turns autocast to `precision` on for the ops of this thread on `device`, from construction to
/// destruction. Does nothing for float32.
class AutocastScope {
 public:
  AutocastScope(const c10::Device& device, Precision precision);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_;
  bool on_;
};

}  // namespace highwater::worker
