#include "worker/checks/benchmark/error_sums.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace highwater::worker {
namespace {

torch::Tensor onHost(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU).to(torch::kFloat64);
}

}  // namespace

void ErrorSums::add(const torch::Tensor& expected, const torch::Tensor& actual) {
  const torch::NoGradGuard noGrad;
  const torch::Tensor e = onHost(expected), a = onHost(actual);
  elements_ += e.numel();
  if (e.numel() == 0) return;
  const torch::Tensor isFinite = e.isfinite(), isActual = a.isfinite();
  nonFinite_ += isFinite.ne(isActual).sum().item<std::int64_t>();
  const torch::Tensor both = isFinite.logical_and(isActual);
  const torch::Tensor from = e.masked_select(both);
  if (from.numel() == 0) return;
  const torch::Tensor error = (a.masked_select(both) - from).abs();
  const double squared = from.square().sum().item<double>();
  const double rms = std::sqrt(squared / static_cast<double>(from.numel()));
  squaredExpected_ += squared;
  squaredErrors_ += error.square().sum().item<double>();
  maxAbs_ = std::max(maxAbs_, error.max().item<double>());
  if (rms > 0) {
    maxRel_ = std::max(maxRel_, (error / from.abs().clamp_min(rms)).max().item<double>());
  } else if (maxAbs_ > 0) {
    maxRel_ = std::max(maxRel_, 1.0);  // something where nothing was expected
  }
}

nlohmann::ordered_json ErrorSums::json() const {
  const double count = static_cast<double>(std::max<std::int64_t>(elements_, 1));
  return {{"elements", elements_},
          {"max_abs", maxAbs_},
          {"max_rel", maxRel_},
          {"rms_error", std::sqrt(squaredErrors_ / count)},
          {"rms_expected", std::sqrt(squaredExpected_ / count)},
          {"non_finite", nonFinite_}};
}

ErrorSums& ModuleErrors::of(const std::string& module) {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& each) { return each.first == module; });
  return found != all_.end() ? found->second : all_.emplace_back(module, ErrorSums()).second;
}

const ErrorSums* ModuleErrors::find(const std::string& module) const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& each) { return each.first == module; });
  return found == all_.end() ? nullptr : &found->second;
}

}  // namespace highwater::worker
