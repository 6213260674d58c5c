#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace highwater::analysis {

/// The smallest and the largest value of a range. Both are NaN if the range has no number.
struct MinMax {
  double min = 0;
  double max = 0;
};

/// A column of numbers with a pyramid of minima and maxima over groups of 16, 256, 4096 …, so that
/// minMax() of any range costs O(16 log N). The caller keeps the column of times. NaN stands for
/// "no reading" and is ignored by minMax().
class SeriesPyramid {
 public:
  /// The number of entries of one level that one entry of the next level covers.
  static constexpr std::size_t kFactor = 16;

  void append(double value);
  /// Inserts `value` before `index`. The cost is linear in the number of values after it, so this
  /// is only for late events near the end. Precondition: index <= size().
  void insert(std::size_t index, double value);
  /// Replaces the value at `index`. Precondition: index < size().
  void set(std::size_t index, double value);

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] double operator[](std::size_t index) const { return values_[index]; }
  [[nodiscard]] std::span<const double> values() const { return values_; }

  /// The extremes of the values [begin, end). Precondition: begin < end <= size().
  [[nodiscard]] MinMax minMax(std::size_t begin, std::size_t end) const;
  /// Asks the processor to fetch what minMax() reads of a range that begins or ends at `index`.
  /// Asked a few ranges ahead, it waits for little else in a long series. Precondition: index <=
  /// size().
  void prefetch(std::size_t index) const;

 private:
  /// The entry of `level` at `index`. Level 0 is the values themselves.
  [[nodiscard]] MinMax entry(std::size_t level, std::size_t index) const;
  [[nodiscard]] std::size_t entries(std::size_t level) const;
  /// Computes the entry of `level` >= 1 at `index` from the level below.
  [[nodiscard]] MinMax group(std::size_t level, std::size_t index) const;
  void rebuildFrom(std::size_t index);

  std::vector<double> values_;
  /// levels_[k] has one entry per kFactor^(k+1) values; the last one may cover fewer. A level
  /// exists once the one below has more than kFactor entries.
  std::vector<std::vector<MinMax>> levels_;
};

}  // namespace highwater::analysis
