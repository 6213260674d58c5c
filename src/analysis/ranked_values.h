#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace highwater::analysis {

/// Numbers by rank, while they come: adding one and asking for one costs about the square root of
/// how many there are, so that the percentiles of a run of a million steps can be shown live.
class RankedValues {
 public:
  void add(std::int64_t value);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The value with so many before it in order. Precondition: rank < size().
  [[nodiscard]] std::int64_t at(std::size_t rank) const;
  /// The smallest value that at least `percent` % of the values do not exceed. Precondition: not
  /// empty, percent <= 100.
  [[nodiscard]] std::int64_t percentile(std::size_t percent) const;
  /// How many values are smaller.
  [[nodiscard]] std::size_t countBelow(std::int64_t value) const;

 private:
  std::vector<std::vector<std::int64_t>> chunks_;  ///< none is empty; sorted, one after the other
  std::size_t size_ = 0;
};

}  // namespace highwater::analysis
