#pragma once

#include <QElapsedTimer>
#include <QPixmap>
#include <QTimer>

#include "views/panes/time_pane.h"

namespace highwater::models {
class SearchModel;
}

namespace highwater::views {

/// A pane that shows the whole run in one strip, with a frame around the range that the other panes
/// show. Dragging the frame pans, dragging its edges zooms, and a click elsewhere moves it there.
class OverviewPane final : public TimePane {
  Q_OBJECT

 public:
  OverviewPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);
  void setMeasures(const PaneMeasures& measures) override;
  /// Draws a line above the run where a search has hits. Not owned; it must outlive this pane.
  void showSearch(const models::SearchModel* search);
  /// Redraws the whole run, ten times a second at most: a live run changes it with every frame, but
  /// hardly visibly.
  void refresh() override;

 protected:
  [[nodiscard]] bool hasMarkLines() const override { return false; }
  [[nodiscard]] TimeRange shownRange() const override;
  void visibleRangeChanged() override { scheduleOverlay(); }  // only the window in it moves
  void paintGround(QPainter& painter) override;
  void paintMarks(QPainter& painter) override;
  void paintOverlay(QPainter& painter) override;
  [[nodiscard]] QRegion overlayRegion() override { return rect(); }
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  [[nodiscard]] std::int64_t zoomCentre(std::int64_t ns) const override;

 private:
  enum class Grip { kNone, kWindow, kLeft, kRight };
  [[nodiscard]] Grip gripAt(double x) const;
  [[nodiscard]] QRectF windowRect() const;
  void paintSteps(QPainter& painter) const;
  void paintMarkers(QPainter& painter) const;
  void paintRun(QPainter& painter) const;

  void paintHits(QPainter& painter) const;

  const models::SearchModel* search_ = nullptr;
  /// What the picture of the run depends on.
  struct RunKey {
    std::uint64_t revision = 0;
    QSize size;
    double pixelRatio = 0;
    std::int64_t endNs = 0;
    const Theme* theme = nullptr;
    bool operator==(const RunKey&) const = default;
  };
  RunKey runKey_;
  QPixmap run_;
  QTimer refreshTimer_;
  QElapsedTimer sinceRefresh_;
  Grip grip_ = Grip::kNone;
  double pressedX_ = 0;
  TimeRange pressedRange_;
};

}  // namespace highwater::views
