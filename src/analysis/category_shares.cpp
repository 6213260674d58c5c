#include "analysis/category_shares.h"

#include <utility>

namespace highwater::analysis {

void CategoryShares::addSlot(std::uint8_t category) {
  slots_[category] = static_cast<std::uint16_t>(categories_.size());
  categories_.push_back(category);
  if (categories_.size() <= stride_) return;
  // Longer blocks for more categories, so that a span takes no more memory.
  stride_ *= 2;
  block_ = std::max(kLeastBlock, stride_ * 2);
  known_ = 0;
  nsBefore_.assign(stride_, 0);
  begunBefore_.assign(stride_, 0);
}

std::uint8_t CategoryShares::largest(const Sums& before, const Sums& after) const {
  std::size_t best = 0;
  const auto rank = [&](std::size_t slot) {
    return std::pair(after.ns[slot] - before.ns[slot], after.begun[slot] - before.begun[slot]);
  };
  for (std::size_t slot = 1; slot < categories_.size(); ++slot) {
    const bool lower = categories_[slot] < categories_[best];
    if (rank(slot) > rank(best) || (rank(slot) == rank(best) && lower)) best = slot;
  }
  return categories_[best];
}

}  // namespace highwater::analysis
