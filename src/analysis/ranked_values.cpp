#include "analysis/ranked_values.h"

#include <algorithm>

namespace highwater::analysis {
namespace {

constexpr std::size_t kFullChunk = 1024;

}  // namespace

void RankedValues::add(std::int64_t value) {
  ++size_;
  if (chunks_.empty()) {
    chunks_.push_back({value});
    return;
  }
  auto chunk = std::lower_bound(
      chunks_.begin(), chunks_.end(), value,
      [](const std::vector<std::int64_t>& c, std::int64_t v) { return c.back() < v; });
  if (chunk == chunks_.end()) --chunk;
  chunk->insert(std::upper_bound(chunk->begin(), chunk->end(), value), value);
  if (chunk->size() >= kFullChunk) {
    const auto middle = chunk->begin() + kFullChunk / 2;
    std::vector<std::int64_t> upper(middle, chunk->end());
    chunk->erase(middle, chunk->end());
    chunks_.insert(chunk + 1, std::move(upper));
  }
}

std::int64_t RankedValues::at(std::size_t rank) const {
  auto chunk = chunks_.begin();
  for (; rank >= chunk->size(); ++chunk) rank -= chunk->size();
  return (*chunk)[rank];
}

std::int64_t RankedValues::percentile(std::size_t percent) const {
  const std::size_t rank = (size_ * percent + 99) / 100;
  return at(std::max<std::size_t>(rank, 1) - 1);
}

std::size_t RankedValues::countBelow(std::int64_t value) const {
  std::size_t count = 0;
  for (const auto& chunk : chunks_) {
    if (chunk.back() >= value) {
      return count + static_cast<std::size_t>(std::lower_bound(chunk.begin(), chunk.end(), value) -
                                              chunk.begin());
    }
    count += chunk.size();
  }
  return count;
}

}  // namespace highwater::analysis
