#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace highwater::analysis {

/// A growing set of numbers with access by rank. Adding and looking up cost about the square root
/// of the size, so the percentiles of a run of a million steps can be shown live.
class RankedValues {
 public:
  void add(std::int64_t value);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Returns the value at position `rank` of the sorted values, counted from 0. Precondition: rank
  /// < size().
  [[nodiscard]] std::int64_t at(std::size_t rank) const;
  /// The percentile by nearest rank: the smallest value that at least `percent` % of the values do
  /// not exceed. Precondition: not empty, percent <= 100.
  [[nodiscard]] std::int64_t percentile(std::size_t percent) const;
  /// The number of values smaller than `value`.
  [[nodiscard]] std::size_t countBelow(std::int64_t value) const;

 private:
  std::vector<std::vector<std::int64_t>> chunks_;  ///< none is empty; together they are sorted
  std::size_t size_ = 0;
};

}  // namespace highwater::analysis
