#include "process/queue_load.h"

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace highwater::process {
namespace {

constexpr std::int64_t kLeastSide = 512;  // some ms a product on a CPU core
constexpr std::int64_t kMostSide = 4096;
/// Queueing an op takes some 10 us; a product must take much longer.
constexpr double kLeastProductMs = 0.3;
constexpr int kLoadTrials = 3;
constexpr int kMostProducts = 4000;

}  // namespace

QueueLoad::QueueLoad(double targetMs) {
  allocate(kLeastSide);
  (void)measure(1, 1);  // compiles the kernel
  while (a_.size(0) < kMostSide && measure(4, kLoadTrials) / 4 < kLeastProductMs) {
    allocate(a_.size(0) * 2);
    (void)measure(1, 1);
  }
  int products = 1;
  double ms = measure(products, kLoadTrials);
  while (ms < std::min(kMeasuredMs, targetMs) && products < kMostProducts) {
    products *= 2;
    ms = measure(products, kLoadTrials);
  }
  const double each = std::max(ms / products, 0.001);
  count_ = std::clamp(static_cast<int>(std::ceil(targetMs / each)), 1, kMostProducts);
  ms_ = each * count_;
}

void QueueLoad::allocate(std::int64_t side) {
  const auto options = at::TensorOptions(at::Device(at::kMPS, 0)).dtype(at::kFloat);
  a_ = at::full({side, side}, 0.5, options);
  b_ = at::full({side, side}, 0.25, options);
  c_ = at::empty({side, side}, options);
}

double QueueLoad::measure(int products, int trials) {
  using Clock = std::chrono::steady_clock;
  count_ = products;
  double shortest = std::numeric_limits<double>::max();
  for (int i = 0; i < trials; ++i) {
    const auto begin = Clock::now();
    submit();
    at::detail::getMPSHooks().deviceSynchronize();
    const std::chrono::duration<double, std::milli> ms = Clock::now() - begin;
    shortest = std::min(shortest, ms.count());
  }
  return shortest;
}

void QueueLoad::submit() {
  for (int i = 0; i < count_; ++i) at::mm_out(c_, a_, b_);
}

}  // namespace highwater::process
