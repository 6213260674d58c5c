#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tuning/tensor_budget.h"

namespace highwater::tuning {

/// A peak that was measured at a setting, in bytes.
struct PeakPoint {
  Setting setting;
  double bytes = 0;
};

/// The range in which a value lies, and the most likely one.
struct Range {
  double lower = 0, likely = 0, upper = 0;
};

/// The largest amount by which the allocator may count more than a step needs, because it hands out
/// cached blocks that are larger than the request and counts them whole. PyTorch allows 32 MiB for
/// one block; several are in use at once. Measured on the sample workload: up to 49 MiB.
inline constexpr double kReuseExcess = 64.0 * 1024 * 1024;
/// The same as a share of what depends on the setting, for small steps; measured: up to 1.2.
inline constexpr double kReuseShare = 1.25;

/// The peak memory of a step as fixed + perToken × tokens + perScore × tokens × length, none of
/// them negative.
///
/// Two answers are given together. The most likely value is a weighted least-squares fit whose
/// weights are low for small steps, where reuse distorts most. The bounds contain the values of all
/// non-negative coefficients that agree with each measured peak within its tolerance (bounded-error
/// estimation: Milanese and Vicino, 1991), and the 95 % prediction interval of the fit by Student's
/// t, where there are more points than coefficients. So a single point gives bounds too: from
/// "all of it is fixed" to "all of it grows".
class PeakFit {
 public:
  /// Fits points of different settings, at least one. `atLeastFixed` is what the fixed part is
  /// known to be at least, in bytes. std::nullopt if there is no point with a positive size.
  [[nodiscard]] static std::optional<PeakFit> make(std::span<const PeakPoint> points,
                                                   double atLeastFixed = 0);

  /// Predicts the peak at a setting, in bytes, with 95 % bounds. Takes microseconds.
  [[nodiscard]] Range at(Setting setting) const;
  /// The fitted coefficients in bytes: fixed, per token, per token and position.
  [[nodiscard]] double fixed() const { return likely_[0]; }
  [[nodiscard]] double perToken() const { return likely_[1]; }
  [[nodiscard]] double perScore() const { return likely_[2]; }
  /// Bounds of the coefficients, in bytes: of all that agree with the measured peaks. One measured
  /// setting bounds the fixed part only from above, and the growth likewise.
  [[nodiscard]] Range fixedRange() const { return rangeOf(0); }
  [[nodiscard]] Range perTokenRange() const { return rangeOf(1); }
  [[nodiscard]] Range perScoreRange() const { return rangeOf(2); }
  /// The median relative distance of the measured peaks from the fit.
  [[nodiscard]] double medianError() const { return medianError_; }

 private:
  using Vector = std::array<double, 3>;
  PeakFit() = default;
  void fitLikely(std::span<const PeakPoint> points);
  void findVertices(std::span<const PeakPoint> points);

  [[nodiscard]] Range rangeOf(std::size_t coefficient) const;
  [[nodiscard]] double mostAt(const Vector& x) const;

  std::vector<PeakPoint> measured_;
  double atLeastFixed_ = 0;
  Vector likely_{};
  std::vector<Vector> vertices_;  ///< corners of the set of coefficients that agree with all points
  double noise_ = 0;              ///< tolerance as a share of a peak
  double spread_ = 0;    ///< residual standard deviation in units of the weights; 0: unknown
  double quantile_ = 0;  ///< Student's t for the degrees of freedom
  std::array<Vector, 3> covariance_{};
  double medianError_ = 0;
};

/// The 97.5 % quantile of Student's t distribution. Precondition: `degrees` >= 1.
[[nodiscard]] double studentQuantile(std::size_t degrees);

}  // namespace highwater::tuning
