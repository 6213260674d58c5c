#pragma once

#include <optional>
#include <vector>

#include "views/panes/event_focus.h"
#include "views/panes/paint.h"
#include "views/panes/plot_layers.h"
#include "views/panes/time_axis.h"
#include "views/panes/wheel_gesture.h"

namespace highwater::views {

/// Layout that all panes share, in logical pixels.
struct PaneMeasures {
  int gutter = 112;
  int rightInset = 12;
  int header = 26;
  bool small = false;  ///< the layout for small windows: see PaneStack::setSmall()
};

/// The measures of the panes in a small window, or in a larger one.
[[nodiscard]] inline PaneMeasures measuresFor(bool small) {
  PaneMeasures measures;
  measures.small = small;
  measures.gutter = small ? 100 : 112;
  return measures;
}

/// One entry of a pane's header: a legend with the current value.
struct Readout {
  Swatch swatch = Swatch::kNone;
  QColor color;
  QString label;
  QString value;
  int rank = 0;  ///< where not all fit, readouts of a higher rank are dropped first

  bool operator==(const Readout&) const = default;
};

/// Base of all panes: a plot on the shared time axis with gutter, header, grid, selection and
/// cursor. A pane adds plottables for its data and knows no other pane.
///
/// Left drag selects a range, or moves an edge of the selection if it begins there; Shift+drag and
/// middle drag pan. The wheel and a pinch zoom around the cursor, Shift+wheel, a horizontal wheel
/// and two fingers moving sideways pan, and a click picks what is under it.
class TimePane : public QCustomPlot {
  Q_OBJECT

 public:
  TimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
           QWidget* parent = nullptr);

  /// Has the pane redrawn with the next frame of the axis's clock. Call it when the store has
  /// changed.
  virtual void refresh();
  /// Sets this pane's gutter, insets and header height, and redraws it soon. PaneStack gives all
  /// panes the same measures, so that their time axes line up. Overrides may use another header
  /// height.
  virtual void setMeasures(const PaneMeasures& measures);
  [[nodiscard]] const PaneMeasures& measures() const { return measures_; }

  /// Converts between time and pixels of this pane.
  [[nodiscard]] TimeScale scale() const;
  /// The area of the data: the pane without gutter and header, in pixels.
  [[nodiscard]] QRect plotRect() const;
  /// Redraws the pane at once, for pictures.
  void renderNow();

 protected:
  /// How far from an event the mouse still picks it, in pixels.
  static constexpr int kSlackPixels = 5;

  /// The range that the pane shows. The overview overrides it with the whole run.
  [[nodiscard]] virtual TimeRange shownRange() const;
  /// Paints what is below the data: the grid and the tint of the selection. Called first.
  virtual void paintGround(QPainter& painter);
  /// Paints what is above the data. Called second.
  virtual void paintMarks(QPainter& painter);
  /// Paints what is above all else: cursor, header and emptyText(). Called last, and alone if only
  /// the cursor has moved; the painter is then clipped to overlayRegion().
  virtual void paintOverlay(QPainter& painter);
  /// What scheduleOverlay() paints anew: the header, and the cursor's old and new place.
  [[nodiscard]] virtual QRegion overlayRegion();

  /// Whether knob lines and selection edges run through this pane.
  [[nodiscard]] virtual bool hasMarkLines() const { return true; }
  /// The title in the header; empty for a pane without header.
  [[nodiscard]] virtual QString title() const { return {}; }
  /// The legend with current values in the header. The last ones are left out if room is short.
  [[nodiscard]] virtual std::vector<Readout> readouts() const { return {}; }
  /// The text at the right end of the header; empty for none.
  [[nodiscard]] virtual QString rightReadout() const { return {}; }
  /// The text in place of data; empty if there is data.
  [[nodiscard]] virtual QString emptyText() const { return {}; }
  /// The tooltip for the data under a point; empty for none.
  [[nodiscard]] virtual QString tipAt(const QPoint& position) const;
  /// The tooltip for the gutter, beside the data.
  [[nodiscard]] virtual QString gutterTipAt(const QPoint&) const { return {}; }
  /// The user clicked without dragging. The base clears the picked event.
  virtual void clicked(const QPoint& position);
  /// Called before each redraw of the whole pane, to fit the value axis to the visible data.
  virtual void updateScales() {}

  /// Tints the selection and the pinned ranges between two heights.
  void paintTints(QPainter& painter, double top, double bottom) const;
  /// Paints the edges of the selection and of the pinned ranges between two heights: those of A are
  /// dashed.
  void paintEdges(QPainter& painter, double top, double bottom) const;
  void paintTitle(QPainter& painter, const QString& text, double top, double height) const;
  /// Paints a label of the value axis into the gutter, centred on `y`.
  void paintGutterLabel(QPainter& painter, double y, const QString& text) const;
  void paintCursorLine(QPainter& painter, double top, double bottom) const;
  [[nodiscard]] const Theme& theme() const { return Theme::of(this); }
  /// The time of the readouts: that of the cursor, or else of the newest data.
  [[nodiscard]] std::int64_t readoutTime() const;
  /// The index of the last step that began at or before `ns`, if any.
  [[nodiscard]] std::optional<std::size_t> stepAt(std::int64_t ns) const;

  /// Has the whole pane redrawn with the next frame.
  void scheduleReplot();
  /// Has what paintOverlay() paints redrawn with the next frame.
  void scheduleOverlay();
  /// The axis shows another range. The base redraws the whole pane.
  virtual void visibleRangeChanged();

  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override { event->ignore(); }
  void contextMenuEvent(QContextMenuEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;
  /// The time around which a gesture at the time `ns` zooms. The overview overrides it.
  [[nodiscard]] virtual std::int64_t zoomCentre(std::int64_t ns) const { return ns; }
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

  const analysis::LiveStore* store_;
  TimeAxis* axis_;
  EventFocus* focus_;
  WheelGesture wheel_;

 private:
  enum class Drag { kNone, kPan, kSelect };

  /// What has to be redrawn.
  enum class Stale { kNothing, kOverlay, kAll };

  /// The time under a horizontal position, or else at the nearer edge of the plot.
  [[nodiscard]] std::int64_t timeInPlot(double x) const;
  /// The end of the selection opposite to the edge at a horizontal position; std::nullopt where no
  /// edge can be grabbed.
  [[nodiscard]] std::optional<std::int64_t> oppositeEdge(double x) const;
  void updateMouseCursor(double x);
  void drawAll();
  void drawStale();
  /// The column of pixels in which the cursor is; empty without one.
  [[nodiscard]] QRect cursorColumn() const;
  void outdate(Stale part);
  void showTip(const QPoint& position);
  /// Pinching zooms; a double tap of two fingers shows the step under them, or the whole run again.
  /// Returns false for any other gesture.
  bool takeGesture(const QNativeGestureEvent& gesture);
  void paintHeader(QPainter& painter) const;
  void paintKnobLines(QPainter& painter) const;
  void paintEndLine(QPainter& painter) const;
  void paintEmpty(QPainter& painter) const;

  PaneMeasures measures_;
  Stale stale_ = Stale::kNothing;
  bool drawsToScreen_ = false;
  /// The part of the overlay that changes with the cursor.
  struct Header {
    std::vector<Readout> readouts;
    QString right;
    bool operator==(const Header&) const = default;
  };
  Header shownHeader_;
  bool paintsHeader_ = true;  ///< false while only the cursor's column is painted
  QRegion paintedCursor_;     ///< where the cursor was painted and may still be seen
  Drag drag_ = Drag::kNone;
  Qt::MouseButton dragButton_ = Qt::NoButton;
  QPoint pressed_;
  bool moved_ = false;
  std::int64_t dragTime_ = 0;
  TimeRange dragVisible_;
};

}  // namespace highwater::views
