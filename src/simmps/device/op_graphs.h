#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <initializer_list>
#include <string_view>

#include "simmps/device/device.h"

namespace highwater::simmps {

/// Adds to the device's memory the compiled graph that a Mac (MPSGraph) would cache for an op on
/// arguments of these shapes and types, once for each combination. Throws c10::OutOfMemoryError if
/// a new graph does not fit.
void chargeGraph(std::string_view op, const torch::jit::Stack& arguments);

/// Charges the device's memory for a single compiled graph where a Mac runs one op and this device
/// composes it of several: while the scope lives, the ops of its thread are not charged.
class SingleGraphScope {
 public:
  /// Charges for the graph of `op` on these tensors. Throws c10::OutOfMemoryError if it does not
  /// fit.
  SingleGraphScope(std::string_view op, std::initializer_list<at::Tensor> arguments);
  ~SingleGraphScope();
  SingleGraphScope(const SingleGraphScope&) = delete;
  SingleGraphScope& operator=(const SingleGraphScope&) = delete;

  /// True while a scope exists on this thread.
  static bool isActive();
};

/// Calls chargeGraph(), with its errors. Does nothing if graphs are not simulated or a
/// SingleGraphScope is active on this thread.
inline void useGraph(std::string_view op, const torch::jit::Stack& arguments) {
  if (deviceSettings().graphCacheBytes != 0 && !SingleGraphScope::isActive())
    chargeGraph(op, arguments);
}
/// Charges the device's memory for the compiled graph of `op` on these tensors, as chargeGraph()
/// does and with its errors. Does nothing if graphs are not simulated or a SingleGraphScope is
/// active. An undefined tensor stands for an absent argument.
inline void useGraph(std::string_view op, std::initializer_list<at::Tensor> arguments) {
  if (deviceSettings().graphCacheBytes == 0) return;
  useGraph(op, torch::jit::Stack(arguments.begin(), arguments.end()));
}

/// Releases the memory of all compiled graphs, as torch.mps.empty_cache() does.
void clearGraphs();

}  // namespace highwater::simmps
