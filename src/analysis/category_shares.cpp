#include "analysis/category_shares.h"

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

}  // namespace highwater::analysis
