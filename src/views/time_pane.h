#pragma once

#include <QTimer>
#include <optional>
#include <vector>

#include "views/event_focus.h"
#include "views/paint.h"
#include "views/plot_layers.h"
#include "views/time_axis.h"

namespace highwater::views {

/// Measures that all panes share, in logical pixels.
struct PaneMeasures {
  int gutter = 112;
  int rightInset = 12;
  int header = 26;
  bool small = false;  ///< the layout for windows under 1400 wide
};

/// One entry of a pane's header: legend and readout in one.
struct Readout {
  Swatch swatch = Swatch::kNone;
  QColor color;
  QString label;
  QString value;
};

/// A plot on the shared time axis: the frame (gutter, header, grid, selection, cursor) and the
/// mouse. Panes derive from it, add plottables for their data and know no other pane.
///
/// Left drag pans, the wheel zooms around the cursor, Shift+drag selects, Shift+wheel or a
/// horizontal wheel pans, a click picks what is under it.
class TimePane : public QCustomPlot {
  Q_OBJECT

 public:
  TimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
           QWidget* parent = nullptr);

  /// The store has changed: redraws within 16 ms, with whatever else changes until then.
  virtual void refresh();
  virtual void setMeasures(const PaneMeasures& measures);
  [[nodiscard]] const PaneMeasures& measures() const { return measures_; }

  /// The maps between times and pixels of this pane.
  [[nodiscard]] TimeScale scale() const;
  /// Where data is drawn.
  [[nodiscard]] QRect plotRect() const;
  /// Draws now what was put off: for pictures.
  void renderNow();

 protected:
  /// What the pane shows: the axis' visible range, unless it is the overview.
  [[nodiscard]] virtual TimeRange shownRange() const;
  /// In the order of paint; each may be extended.
  virtual void paintGround(QPainter& painter);
  virtual void paintMarks(QPainter& painter);
  virtual void paintOverlay(QPainter& painter);

  /// Whether knob lines and selection edges run through this pane.
  [[nodiscard]] virtual bool hasMarkLines() const { return true; }
  [[nodiscard]] virtual QString title() const { return {}; }
  [[nodiscard]] virtual std::vector<Readout> readouts() const { return {}; }
  [[nodiscard]] virtual QString rightReadout() const { return {}; }
  /// What to say in place of data; empty where there is data.
  [[nodiscard]] virtual QString emptyText() const { return {}; }
  [[nodiscard]] virtual QString tipAt(const QPoint& position) const;
  /// Likewise of what stands in the gutter, beside the data.
  [[nodiscard]] virtual QString gutterTipAt(const QPoint&) const { return {}; }
  virtual void clicked(const QPoint& position);
  virtual void updateScales() {}

  void paintTitle(QPainter& painter, const QString& text, double top, double height) const;
  /// A value axis label in the gutter, centred on `y`.
  void paintGutterLabel(QPainter& painter, double y, const QString& text) const;
  void paintCursorLine(QPainter& painter, double top, double bottom) const;
  [[nodiscard]] const Theme& theme() const { return Theme::of(this); }
  /// The time that readouts are for: the cursor, or the newest.
  [[nodiscard]] std::int64_t readoutTime() const;
  /// The index of the last step that began at or before `ns`.
  [[nodiscard]] std::optional<std::size_t> stepAt(std::int64_t ns) const;

  void scheduleReplot();
  void scheduleOverlay();

  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override { event->ignore(); }
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

  const analysis::LiveStore* store_;
  TimeAxis* axis_;
  EventFocus* focus_;

 private:
  enum class Drag { kNone, kPan, kSelect };

  void drawAll();
  void showTip(const QPoint& position);
  void paintHeader(QPainter& painter) const;
  void paintSelectionEdges(QPainter& painter) const;
  void paintKnobLines(QPainter& painter) const;
  void paintEndLine(QPainter& painter) const;
  void paintEmpty(QPainter& painter) const;

  PaneMeasures measures_;
  QTimer replotTimer_;
  bool wholeReplot_ = false;
  Drag drag_ = Drag::kNone;
  QPoint pressed_;
  bool moved_ = false;
  std::int64_t dragTime_ = 0;
  TimeRange dragVisible_;
};

}  // namespace highwater::views
