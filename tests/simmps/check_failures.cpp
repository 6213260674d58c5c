#include <torch/library.h>

#include <new>
#include <stdexcept>
#include <string>

#include "simmps/check_mps.h"

// Failures of jobs on the device: where they surface, and as which exception.
namespace {

using at::Tensor;
using checks::kMps;

Tensor& sinhThatThrows(const Tensor&, Tensor&) {
  throw std::range_error("odd range");
}
Tensor& coshThatThrows(const Tensor&, Tensor&) {
  throw std::bad_alloc();
}

/// Submits a job that fails on the device: an index out of range.
void submitFailure() {
  const Tensor weights = at::ones({4, 2}, kMps), tokens = at::full({3}, 9, at::kLong).to(kMps);
  at::embedding(weights, tokens);
}

}  // namespace

CHECK_CASE(exceptionsOfAnyTypeNameTheirOp) {
  torch::Library kernels(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
  kernels.impl("sinh.out", &sinhThatThrows);
  kernels.impl("cosh.out", &coshThatThrows);
  const Tensor x = at::ones({3}, kMps);
  const Tensor y = at::sinh(x);
  const auto odd = checks::thrown<c10::Error>([&] { y.sum().item<float>(); });
  REQUIRE(odd.find("odd range") == 0 && odd.find("by aten::sinh") != std::string::npos);
  const Tensor z = at::cosh(x);
  const auto memory = checks::thrown<c10::Error>([&] { z.sum().item<float>(); });
  REQUIRE(memory.find("this machine (not the simulated device) is out of memory") == 0);
  REQUIRE(memory.find("by aten::cosh") != std::string::npos);
  REQUIRE_EQUAL(x.sum().item<float>(), 3);
}

CHECK_CASE(eventsWaitForEarlierJobsOnly) {
  // HIGHWATER_SIM_LAUNCH_DELAY=300ms
  const auto& hooks = at::detail::getMPSHooks();
  const Tensor x = at::ones({3}, kMps);
  hooks.deviceSynchronize();
  const auto event = hooks.acquireEvent(false);
  Tensor y = x.add(1);
  hooks.recordEvent(event);
  submitFailure();
  for (int i = 0; i < 10; ++i) y = y.add(1);
  const auto last = hooks.acquireEvent(false);
  hooks.recordEvent(last);
  hooks.synchronizeEvent(event);  // neither throws nor waits for the rest
  REQUIRE(hooks.queryEvent(event));
  REQUIRE(!hooks.queryEvent(last));
  const auto text = checks::thrown<c10::Error>([&] { hooks.synchronizeEvent(last); });
  REQUIRE(text.find("index out of range") != std::string::npos);
  REQUIRE_EQUAL(x.sum().item<float>(), 3);
}

CHECK_CASE(seedsHoldAfterAFailure) {
  submitFailure();
  at::manual_seed(7);
  checks::thrown<c10::Error>([] { at::detail::getMPSHooks().deviceSynchronize(); });
  const Tensor first = at::rand({4}, kMps).cpu();
  at::manual_seed(7);
  REQUIRE(at::equal(first, at::rand({4}, kMps).cpu()));
}
