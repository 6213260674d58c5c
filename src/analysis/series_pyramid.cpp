#include "analysis/series_pyramid.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace highwater::analysis {
namespace {

constexpr MinMax kNothing{std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::quiet_NaN()};

void include(MinMax& sum, const MinMax& part) {
  if (std::isnan(part.min)) return;
  if (std::isnan(sum.min)) {
    sum = part;
    return;
  }
  sum.min = std::min(sum.min, part.min);
  sum.max = std::max(sum.max, part.max);
}

}  // namespace

MinMax SeriesPyramid::entry(std::size_t level, std::size_t index) const {
  if (level > 0) return levels_[level - 1][index];
  return {values_[index], values_[index]};
}

std::size_t SeriesPyramid::entries(std::size_t level) const {
  return level == 0 ? values_.size() : levels_[level - 1].size();
}

MinMax SeriesPyramid::group(std::size_t level, std::size_t index) const {
  MinMax sum = kNothing;
  const std::size_t end = std::min((index + 1) * kFactor, entries(level - 1));
  for (std::size_t i = index * kFactor; i < end; ++i) include(sum, entry(level - 1, i));
  return sum;
}

void SeriesPyramid::append(double value) {
  values_.push_back(value);
  std::size_t index = values_.size() - 1;
  for (auto& level : levels_) {
    index /= kFactor;
    if (index == level.size()) {
      level.push_back({value, value});
    } else {
      include(level[index], {value, value});
    }
  }
  if (entries(levels_.size()) > kFactor) {
    const std::size_t level = levels_.size() + 1;
    levels_.emplace_back();
    levels_.back().push_back(group(level, 0));
    levels_.back().push_back(group(level, 1));
  }
}

void SeriesPyramid::insert(std::size_t index, double value) {
  if (index == values_.size()) {
    append(value);
    return;
  }
  // Append a copy of the last value, so that every level grows; then shift the others by one.
  append(values_.back());
  std::copy_backward(values_.begin() + static_cast<std::ptrdiff_t>(index), values_.end() - 2,
                     values_.end() - 1);
  values_[index] = value;
  rebuildFrom(index);
}

void SeriesPyramid::set(std::size_t index, double value) {
  values_[index] = value;
  for (std::size_t level = 1; level <= levels_.size(); ++level) {
    index /= kFactor;
    levels_[level - 1][index] = group(level, index);
  }
}

void SeriesPyramid::rebuildFrom(std::size_t index) {
  for (std::size_t level = 1; level <= levels_.size(); ++level) {
    index /= kFactor;
    for (std::size_t i = index; i < entries(level); ++i) levels_[level - 1][i] = group(level, i);
  }
}

MinMax SeriesPyramid::minMax(std::size_t begin, std::size_t end) const {
  MinMax sum = kNothing;
  for (std::size_t level = 0; begin < end; ++level) {
    const bool top = level == levels_.size();
    while (begin < end && (top || begin % kFactor != 0)) include(sum, entry(level, begin++));
    while (begin < end && end % kFactor != 0) include(sum, entry(level, --end));
    begin /= kFactor;
    end /= kFactor;
  }
  return sum;
}

}  // namespace highwater::analysis
