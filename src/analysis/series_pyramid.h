#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace highwater::analysis {

/// Both are NaN where there is no number.
struct MinMax {
  double min = 0;
  double max = 0;
};

/// A column of numbers with the minimum and maximum of each 16, 256, 4096 … of them, so that a
/// range of any length costs O(16 log N). Indices are the caller's: it keeps the column of times.
/// NaN stands for "no reading": minMax() passes over it.
class SeriesPyramid {
 public:
  static constexpr std::size_t kFactor = 16;

  void append(double value);
  /// Puts `value` before `index`; costs what follows it, so it is for late events near the end.
  /// Precondition: index <= size().
  void insert(std::size_t index, double value);
  /// Replaces the value at `index`. Precondition: index < size().
  void set(std::size_t index, double value);

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] double operator[](std::size_t index) const { return values_[index]; }
  [[nodiscard]] std::span<const double> values() const { return values_; }

  /// Of the values [begin, end); NaN where all of them are. Precondition: begin < end <= size().
  [[nodiscard]] MinMax minMax(std::size_t begin, std::size_t end) const;

 private:
  /// The entry of `level` (0: the values themselves) at `index`.
  [[nodiscard]] MinMax entry(std::size_t level, std::size_t index) const;
  [[nodiscard]] std::size_t entries(std::size_t level) const;
  /// What the entry of `level` >= 1 at `index` should be, from the level below.
  [[nodiscard]] MinMax group(std::size_t level, std::size_t index) const;
  void rebuildFrom(std::size_t index);

  std::vector<double> values_;
  /// levels_[k] has an entry for each kFactor^(k+1) values, the last one perhaps for fewer. A level
  /// exists once the one below has more than kFactor entries.
  std::vector<std::vector<MinMax>> levels_;
};

}  // namespace highwater::analysis
