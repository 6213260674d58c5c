#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <initializer_list>
#include <string_view>

#include "simmps/device.h"

namespace highwater::simmps {

/// Charges the device for the graph of an op on arguments of these shapes and types, once for each
/// combination. Throws c10::OutOfMemoryError where there is no room for a new one.
void chargeGraph(std::string_view op, const torch::jit::Stack& arguments);

/// For a kernel of ours that calls other ops where a Mac runs one: it charges for one graph, and
/// while it lives the ops of its thread charge for none.
class OneGraph {
 public:
  /// Throws as chargeGraph() does.
  OneGraph(std::string_view op, std::initializer_list<at::Tensor> arguments);
  ~OneGraph();
  OneGraph(const OneGraph&) = delete;
  OneGraph& operator=(const OneGraph&) = delete;

  static bool isActive();
};

/// As chargeGraph(), and nothing where no graph cache is simulated or the op is a part of another.
inline void useGraph(std::string_view op, const torch::jit::Stack& arguments) {
  if (deviceSettings().graphCacheBytes != 0 && !OneGraph::isActive()) chargeGraph(op, arguments);
}
inline void useGraph(std::string_view op, std::initializer_list<at::Tensor> arguments) {
  if (deviceSettings().graphCacheBytes == 0) return;
  useGraph(op, torch::jit::Stack(arguments.begin(), arguments.end()));
}

/// Gives back all that was charged.
void clearGraphs();

}  // namespace highwater::simmps
