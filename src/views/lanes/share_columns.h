#pragma once

#include <QImage>
#include <functional>
#include <span>
#include <vector>

#include "views/lanes/lane_kind.h"

namespace highwater::views {

/// One part of a stacked column, from below: its share of the column, and the least height in
/// pixels that it must keep, so that something short and important does not vanish.
struct SharePart {
  double share = 0;
  int leastPixels = 0;
};

/// Divides `pixels` among parts, so that each height is within a pixel of its share and together
/// they are as high as their shares are, rounded. A part's least height comes first; it is taken
/// from what is left empty, or else from the highest other part. The result takes the room of
/// `heights`, which is overwritten.
[[nodiscard]] std::vector<int> stackHeights(std::span<const SharePart> parts, int pixels,
                                            std::vector<int> heights = {});

/// Adds a box that is filled with the colour of those before it. The last one grows where the new
/// one continues it: zoomed out, neighbouring columns make one box.
void addOrExtend(std::vector<QRectF>& boxes, const QRectF& box);

/// The pixel columns of a row in which spans are merged. Each is a stack of colours from below, by
/// the share of the column's time. All columns are drawn as one image.
class ShareColumns {
 public:
  /// `box` is the place of a full column in the row; its width is that of the plot.
  ShareColumns(const LaneFrame& frame, const QRectF& box);

  /// The left edge of a column in pixels of the pane.
  [[nodiscard]] double xOf(int column) const { return frame_.left + column; }
  /// The number of columns.
  [[nodiscard]] int count() const { return image_.width(); }
  /// The height of a full column in pixels.
  [[nodiscard]] int height() const { return image_.height(); }
  /// The span or spans are too narrow to be drawn one by one: all columns that they touch are
  /// merged.
  void merge(const analysis::VisibleSpan& span);
  /// A span that is drawn by itself takes [x, x + width).
  void cover(double x, double width) { set(x, width, false); }
  /// Whether a column holds merged spans.
  [[nodiscard]] bool isMerged(int column) const {
    return merged_[static_cast<std::size_t>(column)];
  }
  /// Whether any column does.
  [[nodiscard]] bool any() const;

  /// Calls visit(column, shares) for the merged columns; `shares` is an analysis::ColumnShares.
  void eachMerged(const analysis::SpanIndex& spans,
                  const std::function<void(int, const analysis::ColumnShares&)>& visit) const;
  /// Fills a column with a colour for each part, from below; what is left stays empty.
  void fill(int column, std::span<const SharePart> parts, std::span<const QRgb> colors);
  /// Draws what was filled.
  void draw() const;

 private:
  void set(double x, double width, bool merged);

  const LaneFrame& frame_;
  QRectF box_;
  QImage image_;
  std::vector<char> merged_;  ///< by column
  std::vector<int> heights_;  ///< of the parts of a column, to allocate once
};

}  // namespace highwater::views
