#include <functional>
#include <string>
#include <vector>

#include "simmps/check_mps.h"

// Memory of compiled graphs: HIGHWATER_SIM_GRAPH_CACHE.
namespace {

using at::Tensor;
using checks::bytesOnDevice;
using checks::hooks;
using checks::kMiB;
using checks::kMps;

/// Empties the allocator's cache and leaves graphs alone.
void emptyBlockCache() {
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
  c10::getDeviceAllocator(at::kMPS)->emptyCache();
#else
  hooks().emptyCache();
#endif
}

}  // namespace

CHECK_CASE(graphsAreInDriverOnly) {
  // HIGHWATER_SIM_GRAPH_CACHE=5MiB: each new combination of op and shapes.
  const Tensor x = at::ones({8}, at::TensorOptions().device(kMps));
  hooks().deviceSynchronize();
  const auto before = hooks().getDriverAllocatedMemory();
  for (int i = 0; i < 3; ++i) at::relu(x);
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory() - before, std::size_t(5 * kMiB));
  at::relu(x.view({2, 4}));
  at::relu(x.to(at::kHalf));
  at::conv1d(x.view({1, 1, 8}), x.view({1, 2, 4}).narrow(1, 0, 1));
  emptyBlockCache();
  REQUIRE(hooks().getDriverAllocatedMemory() >= before + std::size_t(20 * kMiB));
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
  const auto stats = c10::getDeviceAllocator(at::kMPS)->getDeviceStats(0);
  REQUIRE_EQUAL(stats.reserved_bytes[0].current, 8 * kMiB);
#endif
  const auto other = hooks().getDriverAllocatedMemory() - std::size_t(8 * kMiB);
  const auto text = checks::thrown<c10::OutOfMemoryError>([] { bytesOnDevice(100 * kMiB); });
  const std::string expected =
      "(MPS allocated: 8.00 MiB, other allocations: " + std::to_string(other / kMiB) +
      ".00 MiB, max allowed: 108.80 MiB)";
  if (text.find(expected) == std::string::npos) throw checks::Failed(text);
#if HIGHWATER_TORCH_AT_LEAST(2, 13)
  hooks().emptyCache();
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), std::size_t(8 * kMiB));
#endif
}

CHECK_CASE(fusedOpsHaveOneGraph) {
  // HIGHWATER_SIM_GRAPH_CACHE=1MiB, and nothing below leaves the first heap of 8 MiB.
  const auto on = at::TensorOptions().device(kMps);
  const Tensor x = at::ones({1, 2, 8, 8}, on), w = at::ones({3, 2, 3, 3}, on);
  const Tensor seq = at::ones({4, 2, 5}, on), state = at::zeros({1, 2, 6}, on);
  const std::vector<Tensor> cell = {at::ones({24, 5}, on), at::ones({24, 6}, on)};
  const Tensor heads = at::ones({1, 2, 4, 3}, on), grad = at::ones({1, 3, 6, 6}, on);
  const auto graphsOf = [](const std::function<void()>& op) {
    const auto before = hooks().getDriverAllocatedMemory();
    for (int i = 0; i < 2; ++i) op();
    return (hooks().getDriverAllocatedMemory() - before) / kMiB;
  };
  REQUIRE_EQUAL(graphsOf([&] { at::conv2d(x, w); }), 1u);
  REQUIRE_EQUAL(graphsOf([&] { at::conv2d(x, w, {}, 2); }), 1u);
  REQUIRE_EQUAL(graphsOf([&] {
                  at::convolution_backward_overrideable(grad, x, w, {1, 1}, {0, 0}, {1, 1}, false,
                                                        {0, 0}, 1, {true, true, true});
                }),
                3u);
  REQUIRE_EQUAL(
      graphsOf([&] {
        at::lstm(seq, {state, state}, cell, /*has_biases=*/false, 1, 0, false, false, false);
      }),
      1u);
  REQUIRE_EQUAL(graphsOf([&] { at::native_dropout(x, 0.5, true); }), 1u);
  REQUIRE_EQUAL(graphsOf([&] { at::scaled_dot_product_attention(heads, heads, heads); }), 1u);
}
