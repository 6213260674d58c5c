
#include <functional>
#include <string>
#include <vector>

#include "simmps/check_mps.h"

// Host tensors among device tensors: which PyTorch refuses, with its texts, and which it accepts.
namespace {

using at::Tensor;
using checks::kMps;

const std::string kOneDevice = "Expected all tensors to be on the same device";
const std::string kIndices =
    "indices should be either on cpu or on the same device as the indexed tensor (cpu)";
const std::string kStorage =
    "Attempted to set the storage of a tensor on device \"mps:0\" to a storage on different device "
    "\"cpu\"";

Tensor onMps(const Tensor& host) {
  return host.to(kMps);
}

struct Mixed {
  const char* what;
  std::string expected;
  std::function<void()> call;
};

void requireRefused(const std::vector<Mixed>& calls) {
  for (const Mixed& each : calls) {
    std::string text;
    try {
      each.call();
    } catch (const c10::Error& error) {
      text = error.what_without_backtrace();
    }
    if (text.find(each.expected) != std::string::npos) continue;
    throw checks::Failed(std::string(each.what) + ": \"" + text + "\", not \"" + each.expected +
                         "\"");
  }
}

}  // namespace

CHECK_CASE(mixedDevicesAreRefused) {
  const Tensor host = at::ones({2, 2}), mps = onMps(host), number = at::scalar_tensor(2);
  Tensor target = at::zeros({2, 2}), place = onMps(target), sum = at::zeros({});
  requireRefused({
      {"mm", kOneDevice, [&] { at::mm(mps, host); }},
      {"add", kOneDevice, [&] { at::add(mps, host); }},
      {"add_ on the host", kOneDevice, [&] { target.add_(mps); }},
      {"add_ on a number of the host", kOneDevice, [&] { sum.add_(onMps(number)); }},
      {"out= on the host", kOneDevice, [&] { at::mm_out(target, mps, mps); }},
      {"out= a number of the host", kOneDevice, [&] { at::add_out(sum, mps, mps); }},
      {"out= a number, all numbers", kOneDevice,
       [&] { at::add_out(sum, onMps(number), onMps(number)); }},
      {"cat", kOneDevice,
       [&] {
         at::cat({mps, host});
       }},
      {"set_", kStorage, [&] { place.set_(host); }},
  });
  REQUIRE(at::equal(target, at::zeros({2, 2})) && sum.dim() == 0 && sum.item<float>() == 0);
  REQUIRE_EQUAL(place.sum().item<float>(), 0);  // nothing was queued
  // Zero-dimensional host tensors are values.
  REQUIRE_EQUAL((mps + number).sum().item<float>(), 12);
  REQUIRE_EQUAL(at::where(mps.gt(0), mps, number).sum().item<float>(), 4);
}

CHECK_CASE(indicesMayBeOnTheHost) {
  Tensor host = at::arange(4.0), mps = onMps(host);
  const Tensor index = at::tensor({0, 2}), mask = host.gt(1), values = at::tensor({5.f, 6.f});
  requireRefused({
      {"index of a host tensor", kIndices, [&] { host.index({onMps(index)}); }},
      {"index_put_ to a host tensor", kIndices,
       [&] { host.index_put_({onMps(index)}, onMps(values)); }},
      {"index_put_ of a number to a host tensor", kIndices,
       [&] { host.index_put_({onMps(mask)}, at::scalar_tensor(0)); }},
      {"index_put_ of host values", kOneDevice, [&] { mps.index_put_({onMps(index)}, values); }},
      {"index_put_ of host values by host indices", kOneDevice,
       [&] { mps.index_put_({index}, values); }},
  });
  REQUIRE(at::equal(host, at::arange(4.0)) && at::equal(mps.cpu(), host));
  REQUIRE(at::equal(mps.index({index}).cpu(), host.index({index})));
  REQUIRE(at::equal(mps.index({mask}).cpu(), host.index({mask})));
  mps.index_put_({index}, onMps(values));
  mps.index_put_({mask}, at::scalar_tensor(9));
  REQUIRE(at::equal(mps.cpu(), at::tensor({5.f, 1.f, 9.f, 9.f})));
}

CHECK_CASE(convolutionIsOnOneDevice) {
  const Tensor input = at::ones({1, 2, 4, 4}), weight = at::ones({3, 2, 2, 2}),
               bias = at::ones({3});
  const Tensor x = onMps(input), w = onMps(weight);
  const auto backward = [&](const Tensor& grad, const Tensor& from, const Tensor& by) {
    at::convolution_backward_overrideable(grad, from, by, {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1,
                                          {true, true, true});
  };
  const std::string parameters = "Input type (MPSFloatType) and ";
  requireRefused({
      {"weight", parameters + "weight type (CPUFloatType) should be the same",
       [&] { at::conv2d(x, weight); }},
      {"input", kOneDevice, [&] { at::conv2d(input, w); }},
      {"bias", parameters + "bias type (CPUFloatType) should be the same",
       [&] { at::conv2d(x, w, bias); }},
      {"dtype", parameters + "weight type (MPSHalfType) should be the same",
       [&] { at::conv2d(x, w.to(at::kHalf)); }},
      {"gradient", parameters + "gradient type (CPUFloatType) should be the same",
       [&] {
         backward(at::ones({1, 3, 3, 3}), x, w);
       }},
      {"weight of a backward", parameters + "weight type (CPUFloatType) should be the same",
       [&] {
         backward(onMps(at::ones({1, 3, 3, 3})), x, weight);
       }},
      {"no stride", "Expected 2 values each for stride",
       [&] {
         at::convolution_overrideable(x, w, {}, {}, {0, 0}, {1, 1}, false, {0, 0}, 1);
       }},
  });
  REQUIRE(at::equal(at::conv2d(x, w, onMps(bias)).cpu(), at::conv2d(input, weight, bias)));
}
