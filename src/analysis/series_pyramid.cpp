#include "analysis/series_pyramid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/growing.h"

namespace highwater::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// What a group without numbers has. Any number is less than its minimum and more than its maximum.
constexpr MinMax kNothing{kInfinity, -kInfinity};

/// Without branches, because this is most of what a pane does for a frame. A comparison with NaN is
/// false, so NaN changes nothing.
void include(MinMax& sum, const MinMax& part) {
  sum.min = part.min < sum.min ? part.min : sum.min;
  sum.max = part.max > sum.max ? part.max : sum.max;
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
  reserveOneMore(values_);
  values_.push_back(value);
  std::size_t index = values_.size() - 1;
  for (auto& level : levels_) {
    index /= kFactor;
    if (index == level.size()) {
      reserveOneMore(level);
      level.push_back(kNothing);
      include(level.back(), {value, value});
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
  const auto includeValues = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) include(sum, {values_[i], values_[i]});
  };
  if (begin / kFactor == (end - 1) / kFactor || levels_.empty()) {
    includeValues(begin, end);
  } else {
    // The ends that fill no group of the next level; what lies between is its business.
    const auto upwards = [](std::size_t i) { return (i + kFactor - 1) / kFactor * kFactor; };
    includeValues(begin, upwards(begin));
    includeValues(end / kFactor * kFactor, end);
    begin = upwards(begin) / kFactor;
    end /= kFactor;
    for (std::size_t k = 0; begin < end; ++k) {
      const std::vector<MinMax>& level = levels_[k];
      const bool top = k + 1 == levels_.size();
      const std::size_t left = top ? end : std::min(upwards(begin), end);
      for (std::size_t i = begin; i < left; ++i) include(sum, level[i]);
      const std::size_t right = std::max(left, end / kFactor * kFactor);
      for (std::size_t i = right; i < end; ++i) include(sum, level[i]);
      begin = left / kFactor;
      end = right / kFactor;
      if (left == right) break;
    }
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return sum.min <= sum.max ? sum : MinMax{kNaN, kNaN};
}

void SeriesPyramid::prefetch(std::size_t index) const {
  if (levels_.size() < 2) return;  // a short series is in the caches
  const auto fetchGroup = [](const auto& level, std::size_t at) {
    constexpr std::size_t kLine = 64 / sizeof(level[0]);  // entries of a cache line
    const std::size_t begin = at / kFactor * kFactor;
    const std::size_t end = std::min(begin + kFactor, level.size());
    for (std::size_t i = begin; i < end; i += kLine) __builtin_prefetch(&level[i]);
  };
  fetchGroup(values_, index);
  fetchGroup(levels_[0], index / kFactor);
}

}  // namespace highwater::analysis
