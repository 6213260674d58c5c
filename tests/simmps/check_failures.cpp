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
