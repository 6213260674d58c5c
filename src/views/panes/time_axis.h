#pragma once

#include <QObject>
#include <QString>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/run_summary.h"
#include "views/panes/frame_clock.h"

namespace highwater::views {

using analysis::TimeRange;

/// Converts between times and pixels for a plot of `width` pixels that begins at `left`.
struct TimeScale {
  TimeRange range;
  double left = 0;
  double width = 1;

  /// The time that one pixel covers, in ns.
  [[nodiscard]] double nsPerPixel() const {
    return static_cast<double>(range.endNs - range.beginNs) / width;
  }
  /// The horizontal position, in pixels, of a time in ns.
  [[nodiscard]] double pixelAt(std::int64_t ns) const {
    return left + static_cast<double>(ns - range.beginNs) / nsPerPixel();
  }
  /// The time, in ns, at a horizontal position in pixels.
  [[nodiscard]] std::int64_t timeAt(double pixel) const {
    return range.beginNs + static_cast<std::int64_t>((pixel - left) * nsPerPixel());
  }
};

/// The ticks of the ruler: labels at multiples of `majorNs`, with `decimals` digits of a second;
/// short ticks every `minorNs`.
struct TimeTicks {
  std::int64_t majorNs = 0;
  std::int64_t minorNs = 0;
  int decimals = 0;
};

/// Chooses the ticks with the smallest round distance (1, 2, 5 × 10ⁿ; from a second on 1, 2, 5, 10,
/// 15, 30 s, minutes, hours) that puts labels at least `minPixels` apart.
[[nodiscard]] TimeTicks timeTicks(const TimeScale& scale, double minPixels);

/// The two ranges that can be compared.
enum class Pin : std::uint8_t { kA, kB };
/// Both, in order.
inline constexpr std::array<Pin, 2> kPins = {Pin::kA, Pin::kB};

/// The time axis that all panes share: the visible range, the selection, the cursor, and whether
/// the view follows the newest data. Times are in nanoseconds since the start of the run.
class TimeAxis final : public QObject {
  Q_OBJECT

 public:
  /// The shortest visible range, in ns.
  static constexpr std::int64_t kShortestNs = 10'000;  ///< the deepest zoom, 10 µs
  /// The length of the range that a new run shows first, in ns.
  static constexpr std::int64_t kDefaultNs = 5'000'000'000;  ///< what a new run shows
  /// The fewest steps that a view shows that follows the newest data.
  static constexpr std::int64_t kFollowedSteps = 8;

  explicit TimeAxis(QObject* parent = nullptr);

  /// The clock by which everything on this axis is redrawn.
  [[nodiscard]] FrameClock& frames() { return frames_; }
  /// The range of the whole run so far.
  [[nodiscard]] TimeRange extent() const { return extent_; }
  /// The range that the panes show.
  [[nodiscard]] TimeRange visible() const { return visible_; }
  /// The length of the visible range, in ns.
  [[nodiscard]] std::int64_t visibleNs() const { return visible_.endNs - visible_.beginNs; }
  /// The range that the user selected, if any.
  [[nodiscard]] const std::optional<TimeRange>& selection() const { return selection_; }
  /// The time under the mouse, which all panes mark; std::nullopt if it is over none.
  [[nodiscard]] std::optional<std::int64_t> cursor() const { return cursor_; }
  /// Whether the visible range follows the newest data.
  [[nodiscard]] bool follows() const { return follows_; }

  /// Sets the range of the whole run so far, whose steps take `stepNs` now (0: not known). While
  /// following, the visible range moves with its end; unless the user has chosen a length, it is
  /// kDefaultNs, or as many of its multiples as kFollowedSteps steps need.
  void setExtent(TimeRange extent, std::int64_t stepNs = 0);
  /// Shows a range, clamped to keep part of the run in view, and stops following.
  void setVisible(TimeRange range);
  /// Multiplies the visible length by `factor`, within the limits of the axis. `aroundNs` keeps its
  /// place on screen; while following, the right edge does.
  void zoom(double factor, std::int64_t aroundNs);
  /// Moves the visible range by a time in ns, within the run, and stops following.
  void pan(std::int64_t byNs);
  /// Shows the run from a time on, with some room before it, and stops following.
  void fit(std::int64_t fromNs = 0);
  /// The run is over: a view that has followed it shows it from a time on, unless the user has
  /// chosen a length that the run exceeds.
  void endFollowing(std::int64_t fromNs = 0);
  /// Scrolls until the range is visible, without zooming. Stops following if it had to scroll.
  void reveal(TimeRange range);
  /// Shows the range with some room around it; stops following.
  void zoomTo(TimeRange range);
  /// Makes the visible range follow the newest data, or stops that.
  void setFollows(bool follows);
  /// Stops a following view from moving while the training is paused.
  void setHeld(bool held);
  /// Moves a following view that is held on until it shows a time. Does nothing if it does already.
  void bringIn(std::int64_t ns);

  /// Selects a range of time, its ends given in any order. A range shorter than kShortestNs clears
  /// the selection.
  void select(std::int64_t fromNs, std::int64_t toNs);
  void clearSelection();

  /// The range that is pinned as A or as B, to be compared with the other.
  [[nodiscard]] const std::optional<TimeRange>& pinned(Pin pin) const {
    return pins_[static_cast<std::size_t>(pin)];
  }
  /// Whether both ranges are pinned.
  [[nodiscard]] bool compares() const { return pins_[0] && pins_[1]; }
  /// Pins the selection as A or as B, in place of what was pinned there, and clears it. Does
  /// nothing without a selection.
  void pinSelection(Pin pin);
  /// Exchanges A and B.
  void swapPins();
  /// Unpins both ranges.
  void clearPins();
  /// Moves the cursor, which all panes show, to a time; std::nullopt hides it.
  void setCursor(std::optional<std::int64_t> ns);
  /// Returns to the initial state, for a new run.
  void reset();

 signals:
  /// The range that the panes show has changed.
  void visibleChanged();
  /// The range of the whole run has changed.
  void extentChanged();
  void selectionChanged();
  /// A range was pinned or unpinned, or A and B were exchanged.
  void pinsChanged();
  void cursorChanged();
  void followsChanged(bool follows);

 private:
  FrameClock frames_;

  [[nodiscard]] TimeRange clamped(TimeRange range) const;
  [[nodiscard]] TimeRange following(std::int64_t length) const;
  void show(TimeRange range);

  TimeRange extent_{0, 0};
  TimeRange visible_{0, kDefaultNs};
  std::optional<TimeRange> selection_;
  std::array<std::optional<TimeRange>, 2> pins_;
  std::optional<std::int64_t> cursor_;
  bool follows_ = true;
  bool held_ = false;
  bool lengthChosen_ = false;  ///< by the user
};

}  // namespace highwater::views
