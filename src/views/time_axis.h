#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/run_summary.h"

namespace highwater::views {

using analysis::TimeRange;

/// Maps between times and pixels of a plot that is `width` wide and begins at `left`.
struct TimeScale {
  TimeRange range;
  double left = 0;
  double width = 1;

  [[nodiscard]] double nsPerPixel() const {
    return static_cast<double>(range.endNs - range.beginNs) / width;
  }
  [[nodiscard]] double pixelAt(std::int64_t ns) const {
    return left + static_cast<double>(ns - range.beginNs) / nsPerPixel();
  }
  [[nodiscard]] std::int64_t timeAt(double pixel) const {
    return range.beginNs + static_cast<std::int64_t>((pixel - left) * nsPerPixel());
  }
};

/// Where the ruler writes: multiples of `majorNs`, with `decimals` of a second; `minorNs` between.
struct TimeTicks {
  std::int64_t majorNs = 0;
  std::int64_t minorNs = 0;
  int decimals = 0;
};

/// The smallest round step (1, 2, 5 × 10ⁿ; from a second on 1, 2, 5, 10, 15, 30 s, minutes, hours)
/// whose labels are at least `minPixels` apart.
[[nodiscard]] TimeTicks timeTicks(const TimeScale& scale, double minPixels);

/// The one time axis that all panes share: what is visible, what is selected, where the cursor is,
/// and whether the view follows the newest. Times are nanoseconds of the run.
class TimeAxis final : public QObject {
  Q_OBJECT

 public:
  static constexpr std::int64_t kShortestNs = 10'000;        ///< the deepest zoom, 10 µs
  static constexpr std::int64_t kDefaultNs = 5'000'000'000;  ///< what a new run shows

  explicit TimeAxis(QObject* parent = nullptr);

  [[nodiscard]] TimeRange extent() const { return extent_; }
  [[nodiscard]] TimeRange visible() const { return visible_; }
  [[nodiscard]] std::int64_t visibleNs() const { return visible_.endNs - visible_.beginNs; }
  [[nodiscard]] const std::optional<TimeRange>& selection() const { return selection_; }
  [[nodiscard]] std::optional<std::int64_t> cursor() const { return cursor_; }
  [[nodiscard]] bool follows() const { return follows_; }

  /// The whole run as far as it is known. While following, the visible range moves with its end.
  void setExtent(TimeRange extent);
  /// Shows a range, clamped to what makes sense, and stops following.
  void setVisible(TimeRange range);
  /// Factor under 1 shows less. `aroundNs` keeps its place; while following the newest edge does.
  void zoom(double factor, std::int64_t aroundNs);
  void pan(std::int64_t byNs);
  /// Shows the whole run.
  void fit();
  /// Scrolls (never zooms) until the range is visible.
  void reveal(TimeRange range);
  /// Shows the range with some room around it; stops following.
  void zoomTo(TimeRange range);
  void setFollows(bool follows);
  /// While the training pauses nothing new comes: a view that follows stands still.
  void setHeld(bool held);

  /// The two ends may come in any order; a range shorter than the deepest zoom clears.
  void select(std::int64_t fromNs, std::int64_t toNs);
  void clearSelection();
  void setCursor(std::optional<std::int64_t> ns);
  /// Back to the start, for a new run.
  void reset();

 signals:
  void visibleChanged();
  void extentChanged();
  void selectionChanged();
  void cursorChanged();
  void followsChanged(bool follows);

 private:
  [[nodiscard]] TimeRange clamped(TimeRange range) const;
  [[nodiscard]] TimeRange following(std::int64_t length) const;
  void show(TimeRange range);

  TimeRange extent_{0, 0};
  TimeRange visible_{0, kDefaultNs};
  std::optional<TimeRange> selection_;
  std::optional<std::int64_t> cursor_;
  bool follows_ = true;
  bool held_ = false;
};

}  // namespace highwater::views
