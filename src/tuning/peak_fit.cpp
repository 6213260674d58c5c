#include "tuning/peak_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/statistics.h"

namespace highwater::tuning {
namespace {

using Vector = std::array<double, 3>;

/// How far a peak may lie from the formula for other reasons than reuse, as a share of the peak.
/// On the sample workload the median is 0.9 %, the largest 3.7 %; it grows if the points disagree.
constexpr double kNoise = 0.02;
/// The corners of the set are found by trying all triples of planes, so few points take part.
constexpr std::size_t kMostCorners = 14;

Vector terms(Setting s) {
  const auto tokens = static_cast<double>(s.tokens());
  return {1, tokens, tokens * static_cast<double>(s.length)};
}

double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// How much more than needed may have been counted in a peak of `bytes`.
double excess(double bytes, double fixed) {
  return std::min(kReuseExcess, kReuseShare * std::max(0.0, bytes - fixed));
}

/// The part of a measured peak that may be excess: the inverse of excess() added to what is needed.
double excessIn(double measured, double fixed) {
  return std::min(kReuseExcess, kReuseShare / (1 + kReuseShare) * std::max(0.0, measured - fixed));
}

/// Solves a 3 × 3 system by Cramer's rule; false if it is nearly singular.
bool solve(const std::array<Vector, 3>& rows, const Vector& right, Vector& solution) {
  const auto determinant = [](const Vector& a, const Vector& b, const Vector& c) {
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
           a[2] * (b[0] * c[1] - b[1] * c[0]);
  };
  const double all = determinant(rows[0], rows[1], rows[2]);
  double size = 1;
  for (const Vector& row : rows) {
    size *= std::max({std::abs(row[0]), std::abs(row[1]), std::abs(row[2])});
  }
  if (!(std::abs(all) > 1e-9 * size)) return false;
  for (std::size_t column = 0; column < 3; ++column) {
    std::array<Vector, 3> replaced = rows;
    for (std::size_t row = 0; row < 3; ++row) replaced[row][column] = right[row];
    solution[column] = determinant(replaced[0], replaced[1], replaced[2]) / all;
  }
  return true;
}

/// The unit of each coefficient: with it the largest term of any point is 1.
Vector unitsOf(std::span<const PeakPoint> points) {
  Vector units{1, 1, 1};
  for (const PeakPoint& point : points) {
    const Vector x = terms(point.setting);
    for (std::size_t i = 0; i < 3; ++i) units[i] = std::max(units[i], x[i]);
  }
  return units;
}

bool haveSameLength(std::span<const PeakPoint> points) {
  return std::all_of(points.begin(), points.end(), [&](const PeakPoint& point) {
    return point.setting.length == points.front().setting.length;
  });
}

/// Of many points those that bound the most: spread over the products of batch and length.
std::vector<PeakPoint> spreadOut(std::span<const PeakPoint> points) {
  std::vector<PeakPoint> sorted(points.begin(), points.end());
  std::sort(sorted.begin(), sorted.end(), [](const PeakPoint& a, const PeakPoint& b) {
    return std::pair(a.setting.tokens(), a.setting.length) <
           std::pair(b.setting.tokens(), b.setting.length);
  });
  if (sorted.size() <= kMostCorners) return sorted;
  std::vector<PeakPoint> some;
  for (std::size_t i = 0; i < kMostCorners; ++i) {
    some.push_back(sorted[i * (sorted.size() - 1) / (kMostCorners - 1)]);
  }
  return some;
}

}  // namespace

double studentQuantile(std::size_t degrees) {
  constexpr std::array<double, 30> kQuantiles{
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  return degrees <= kQuantiles.size() ? kQuantiles[degrees - 1]
                                      : 1.96 + 2.4 / static_cast<double>(degrees);
}

std::optional<PeakFit> PeakFit::make(std::span<const PeakPoint> points, double atLeastFixed) {
  std::vector<PeakPoint> known;
  double smallest = std::numeric_limits<double>::infinity();
  for (const PeakPoint& point : points) {
    if (!(point.bytes > 0) || point.setting.batch == 0 || point.setting.length == 0) continue;
    known.push_back(point);
    smallest = std::min(smallest, point.bytes);
  }
  if (known.empty()) return std::nullopt;
  PeakFit fit;
  fit.atLeastFixed_ = std::clamp(atLeastFixed, 0.0, smallest);
  fit.fitLikely(known);
  fit.findVertices(known);
  fit.measured_ = std::move(known);
  return fit;
}

/// Weighted least squares with coefficients that are not negative: the best of all subsets of
/// coefficients whose unconstrained solution is allowed. Among equally good ones the first wins.
void PeakFit::fitLikely(std::span<const PeakPoint> points) {
  constexpr std::array<unsigned, 7> kSubsets{0b010, 0b011, 0b110, 0b111, 0b101, 0b100, 0b001};
  const Vector units = unitsOf(points);
  const bool sameLength = haveSameLength(points);
  double best = std::numeric_limits<double>::infinity();
  std::size_t used = 0;
  for (const unsigned subset : kSubsets) {
    if (sameLength && (subset & 0b100) != 0) continue;
    // With one length no part of a squared length can be told from one of tokens.
    std::array<Vector, 3> normal{};
    Vector right{};
    for (const PeakPoint& point : points) {
      Vector x = terms(point.setting);
      const double sigma = kNoise * point.bytes + excessIn(point.bytes, atLeastFixed_) / 2;
      for (std::size_t i = 0; i < 3; ++i) x[i] = x[i] / units[i] / sigma;
      for (std::size_t i = 0; i < 3; ++i) {
        right[i] += x[i] * (point.bytes - atLeastFixed_) / sigma;
        for (std::size_t j = 0; j < 3; ++j) normal[i][j] += x[i] * x[j];
      }
    }
    double scale = 0;
    for (std::size_t i = 0; i < 3; ++i) scale = std::max(scale, normal[i][i]);
    for (std::size_t i = 0; i < 3; ++i) {
      if ((subset >> i & 1U) != 0) continue;
      normal[i] = {0, 0, 0};
      for (Vector& row : normal) row[i] = 0;
      normal[i][i] = scale;
      right[i] = 0;
    }
    Vector solution{};
    if (!solve(normal, right, solution)) continue;
    if (std::any_of(solution.begin(), solution.end(), [](double v) { return v < 0; })) continue;
    for (std::size_t i = 0; i < 3; ++i) solution[i] /= units[i];
    solution[0] += atLeastFixed_;
    double cost = 0;
    for (const PeakPoint& point : points) {
      const double sigma = kNoise * point.bytes + excessIn(point.bytes, atLeastFixed_) / 2;
      const double off = (dot(solution, terms(point.setting)) - point.bytes) / sigma;
      cost += off * off;
    }
    // By more than rounding, which differs between subsets that are both exact.
    if (!(cost < best * (1 - 1e-9) - 1e-9)) continue;
    best = cost;
    likely_ = solution;
    used = static_cast<std::size_t>(__builtin_popcount(subset));
    covariance_ = {};
    for (std::size_t column = 0; column < 3; ++column) {
      if ((subset >> column & 1U) == 0) continue;
      Vector unit{}, inverse{};
      unit[column] = 1;
      if (!solve(normal, unit, inverse)) continue;
      for (std::size_t row = 0; row < 3; ++row) {
        if ((subset >> row & 1U) == 0) continue;
        covariance_[row][column] = inverse[row] / units[row] / units[column];
      }
    }
  }
  if (points.size() > used) {
    const std::size_t degrees = points.size() - used;
    spread_ = std::sqrt(best / static_cast<double>(degrees));
    quantile_ = studentQuantile(degrees);
  }
  std::vector<double> errors;
  for (const PeakPoint& point : points) {
    errors.push_back(std::abs(dot(likely_, terms(point.setting)) / point.bytes - 1));
  }
  medianError_ = analysis::medianOf(errors);
}

void PeakFit::findVertices(std::span<const PeakPoint> all) {
  const std::vector<PeakPoint> points = spreadOut(all);
  const Vector units = unitsOf(points);
  double unit = 0;
  for (const PeakPoint& point : points) unit = std::max(unit, point.bytes);
  struct Plane {
    Vector normal;
    double offset = 0;  ///< normal · coefficients >= offset
  };
  for (noise_ = kNoise; vertices_.empty() && noise_ < 16; noise_ *= 1.25) {
    std::vector<Plane> planes{{{1, 0, 0}, atLeastFixed_ / unit}, {{0, 1, 0}, 0}, {{0, 0, 1}, 0}};
    for (const PeakPoint& point : points) {
      Vector x = terms(point.setting);
      for (std::size_t i = 0; i < 3; ++i) x[i] /= units[i];
      const double margin = noise_ * point.bytes;
      planes.push_back({x, (point.bytes - margin - excessIn(point.bytes, atLeastFixed_)) / unit});
      planes.push_back({{-x[0], -x[1], -x[2]}, -(point.bytes + margin) / unit});
    }
    for (std::size_t a = 0; a < planes.size(); ++a) {
      for (std::size_t b = a + 1; b < planes.size(); ++b) {
        for (std::size_t c = b + 1; c < planes.size(); ++c) {
          Vector corner{};
          if (!solve({planes[a].normal, planes[b].normal, planes[c].normal},
                     {planes[a].offset, planes[b].offset, planes[c].offset}, corner))
            continue;
          const bool allowed =
              std::all_of(planes.begin(), planes.end(), [&corner](const Plane& plane) {
                return dot(plane.normal, corner) >= plane.offset - 1e-9;
              });
          if (!allowed) continue;
          for (std::size_t i = 0; i < 3; ++i) {
            corner[i] = std::max(0.0, corner[i] * unit / units[i]);
          }
          corner[0] = std::max(corner[0], atLeastFixed_);
          vertices_.push_back(corner);
        }
      }
    }
    if (!vertices_.empty()) break;
  }
  if (vertices_.empty()) vertices_.push_back(likely_);
}

Range PeakFit::rangeOf(std::size_t coefficient) const {
  const double likely = likely_[coefficient];
  Range range{likely, likely, likely};
  for (const Vector& each : vertices_) {
    range.lower = std::min(range.lower, each[coefficient]);
    range.upper = std::max(range.upper, each[coefficient]);
  }
  return range;
}

/// What the peak is at most, if all that was measured grew with the fastest growing term.
double PeakFit::mostAt(const Vector& x) const {
  double most = std::numeric_limits<double>::infinity();
  for (const PeakPoint& point : measured_) {
    const Vector from = terms(point.setting);
    double growth = 1;
    for (std::size_t i = 0; i < 3; ++i) growth = std::max(growth, x[i] / from[i]);
    most = std::min(most, point.bytes * growth);
  }
  return most;
}

Range PeakFit::at(Setting setting) const {
  const Vector x = terms(setting);
  Range range;
  range.likely = dot(likely_, x);
  range.lower = range.upper = dot(vertices_.front(), x);
  for (const Vector& each : vertices_) {
    const double bytes = dot(each, x);
    range.lower = std::min(range.lower, bytes);
    range.upper = std::max(range.upper, bytes);
  }
  if (spread_ > 0) {
    double leverage = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) leverage += x[i] * covariance_[i][j] * x[j];
    }
    const double sigma = kNoise * range.likely;
    const double off = quantile_ * spread_ * std::sqrt(std::max(0.0, leverage) + sigma * sigma);
    range.lower = std::min(range.lower, std::max(atLeastFixed_, range.likely - off));
    range.upper = std::max(range.upper, std::min(range.likely + off, mostAt(x)));
  }
  range.lower = std::max(atLeastFixed_, range.lower * (1 - noise_));
  range.upper = range.upper * (1 + noise_);
  range.upper += excess(range.upper, atLeastFixed_);
  range.lower = std::min(range.lower, range.likely);
  range.upper = std::max(range.upper, range.likely);
  return range;
}

}  // namespace highwater::tuning
