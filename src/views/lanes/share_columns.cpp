#include "views/lanes/share_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace highwater::views {

std::vector<int> stackHeights(std::span<const SharePart> parts, int pixels,
                              std::vector<int> heights) {
  heights.clear();
  // The edges between the parts are rounded, not the heights: so the sum is right.
  double upTo = 0;
  int edge = 0;
  for (const SharePart& part : parts) {
    upTo += std::max(part.share, 0.0);
    const int next = static_cast<int>(std::lround(std::min(upTo, 1.0) * pixels));
    heights.push_back(next - edge);
    edge = next;
  }
  int empty = pixels - edge;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    while (heights[i] < parts[i].leastPixels) {
      std::size_t giver = i;
      for (std::size_t other = 0; empty == 0 && other < parts.size(); ++other) {
        const bool spares = other != i && heights[other] > std::max(parts[other].leastPixels, 1);
        if (spares && (giver == i || heights[other] > heights[giver])) {
          giver = other;
        }
      }
      if (empty > 0) {
        --empty;
      } else if (giver != i) {
        --heights[giver];
      } else {
        break;  // more parts than pixels
      }
      ++heights[i];
    }
  }
  return heights;
}

void addOrExtend(std::vector<QRectF>& boxes, const QRectF& box) {
  if (!boxes.empty()) {
    QRectF& last = boxes.back();
    const bool aligned = last.top() == box.top() && last.bottom() == box.bottom();
    if (aligned && box.left() >= last.left() && box.left() <= last.right()) {
      last.setRight(std::max(last.right(), box.right()));
      return;
    }
  }
  boxes.push_back(box);
}

ShareColumns::ShareColumns(const LaneFrame& frame, const QRectF& box)
    : frame_(frame),
      box_(box),
      image_(std::max(static_cast<int>(frame.right - frame.left), 1),
             std::max(static_cast<int>(box.height()), 1), QImage::Format_ARGB32_Premultiplied),
      merged_(static_cast<std::size_t>(image_.width()), 0) {
  image_.fill(Qt::transparent);
}

void ShareColumns::merge(const analysis::VisibleSpan& span) {
  const double first = std::max(std::floor(frame_.scale.pixelAt(span.beginNs)), frame_.left);
  const double last = std::min(std::ceil(frame_.scale.pixelAt(span.endNs)), frame_.right);
  set(first, std::max(last - first, 1.0), true);
}

void ShareColumns::set(double x, double width, bool merged) {
  const int first = std::clamp(static_cast<int>(x - frame_.left), 0, image_.width());
  const int last = std::clamp(static_cast<int>(x + width - frame_.left), first, image_.width());
  std::fill(merged_.begin() + first, merged_.begin() + last, merged);
}

bool ShareColumns::any() const {
  return std::find(merged_.begin(), merged_.end(), 1) != merged_.end();
}

void ShareColumns::eachMerged(
    const analysis::SpanIndex& spans,
    const std::function<void(int, const analysis::ColumnShares&)>& visit) const {
  if (!any()) {
    return;
  }
  spans.shares(frame_.scale.range.beginNs, frame_.scale.nsPerPixel(), image_.width(),
               [&](int column, const analysis::ColumnShares& shares) {
                 if (isMerged(column)) {
                   visit(column, shares);
                 }
               });
}

void ShareColumns::fill(int column, std::span<const SharePart> parts,
                        std::span<const QRgb> colors) {
  heights_ = stackHeights(parts, height(), std::move(heights_));
  int y = image_.height();
  auto* const pixels = reinterpret_cast<QRgb*>(image_.bits()) + column;
  const qsizetype line = image_.bytesPerLine() / qsizetype{sizeof(QRgb)};
  for (std::size_t i = 0; i < heights_.size(); ++i) {
    for (const int top = std::max(y - heights_[i], 0); y > top; --y)
      pixels[(y - 1) * line] = colors[i];
  }
}

void ShareColumns::draw() const {
  if (any()) {
    frame_.painter.drawImage(QRectF(frame_.left, box_.top(), image_.width(), image_.height()),
                             image_, QRectF(image_.rect()));
  }
}

}  // namespace highwater::views
