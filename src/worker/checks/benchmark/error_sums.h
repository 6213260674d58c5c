#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace highwater::worker {

/// How far tensors are from those that were expected. Elements that are not finite on either side
/// are counted and otherwise left out.
class ErrorSums {
 public:
  /// Adds a tensor; both have the same shape, on any device. Computes in float64.
  void add(const torch::Tensor& expected, const torch::Tensor& actual);

  /// An object with `elements`, `max_abs`, `max_rel`, `rms_error`, `rms_expected` and
  /// `non_finite`, the elements that are finite on one side only.
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  std::int64_t elements_ = 0;
  std::int64_t nonFinite_ = 0;
  double maxAbs_ = 0;
  /// The largest |actual - expected| / max(|expected|, root mean square of the expected tensor):
  /// relative to a value near 0 every rounding would be large.
  double maxRel_ = 0;
  double squaredErrors_ = 0;
  double squaredExpected_ = 0;
};

/// Errors by module, in the order in which modules were first added.
class ModuleErrors {
 public:
  /// The sums of a module.
  [[nodiscard]] ErrorSums& of(const std::string& module);
  /// The sums of a module; nullptr where it has none.
  [[nodiscard]] const ErrorSums* find(const std::string& module) const;
  [[nodiscard]] const std::vector<std::pair<std::string, ErrorSums>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, ErrorSums>> all_;
};

}  // namespace highwater::worker
