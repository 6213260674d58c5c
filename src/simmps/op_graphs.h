#pragma once

#include <ATen/core/stack.h>

#include <string_view>

#include "simmps/device.h"

namespace highwater::simmps {

/// Charges the device for the graph of an op on arguments of these shapes and types, once for each
/// combination. Throws c10::OutOfMemoryError where there is no room for a new one.
void chargeGraph(std::string_view op, const torch::jit::Stack& arguments);

/// The same, and nothing where no graph cache is simulated.
inline void useGraph(std::string_view op, const torch::jit::Stack& arguments) {
  if (deviceSettings().graphCacheBytes != 0) chargeGraph(op, arguments);
}

/// Gives back all that was charged.
void clearGraphs();

}  // namespace highwater::simmps
