#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace highwater::analysis {

struct MinMax {
  double min = 0;
  double max = 0;
};

/// A column of numbers with the minimum and maximum of each 16, 256, 4096 … of them, so that a
/// range of any length costs O(16 log N). Indices are the caller's: it keeps the column of times.
class SeriesPyramid {
 public:
  static constexpr std::size_t kFactor = 16;

  void append(double value);
  /// Puts `value` before `index`; costs what follows it, so it is for late events near the end.
  void insert(std::size_t index, double value);

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] double operator[](std::size_t index) const { return values_[index]; }
  [[nodiscard]] std::span<const double> values() const { return values_; }

  /// Of the values [begin, end). Precondition: begin < end <= size().
  [[nodiscard]] MinMax minMax(std::size_t begin, std::size_t end) const;

 private:
  void rebuildFrom(std::size_t index);

  std::vector<double> values_;
  std::vector<std::vector<MinMax>> levels_;
};

}  // namespace highwater::analysis
