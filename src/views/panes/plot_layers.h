#pragma once

#include <functional>

#include "qcustomplot.h"

#include "analysis/live_store.h"
#include "views/panes/time_axis.h"

namespace highwater::views {

/// A QCustomPlot layerable that paints with a function, for the grid, marks and overlay of a pane.
class PaintLayerable final : public QCPLayerable {
 public:
  PaintLayerable(QCustomPlot* plot, const QString& layer, std::function<void(QPainter&)> paint)
      : QCPLayerable(plot, layer), paint_(std::move(paint)) {}

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override {
    painter->setAntialiasing(false);
  }
  void draw(QCPPainter* painter) override { paint_(*painter); }

 private:
  std::function<void(QPainter&)> paint_;
};

/// Base of plottables that draw the store's data in QCustomPlot's axes. They copy no column: draw()
/// queries the visible part at the resolution of the screen.
class StorePlottable : public QCPAbstractPlottable {
 public:
  StorePlottable(QCustomPlot* plot, const analysis::LiveStore* store)
      : QCPAbstractPlottable(plot->xAxis, plot->yAxis), store_(store) {
    setSelectable(QCP::stNone);
  }

  double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }
  QCPRange getKeyRange(bool& found, QCP::SignDomain) const override {
    found = store_->completeUpToNs() > 0;
    return {0, static_cast<double>(store_->completeUpToNs())};
  }
  QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override {
    found = false;
    return {};
  }

 protected:
  void drawLegendIcon(QCPPainter*, const QRectF&) const override {}
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override {
    painter->setAntialiasing(false);
  }

  /// Converts between time and pixels of the current axes.
  [[nodiscard]] TimeScale timeScale() const {
    const QCPRange range = keyAxis()->range();
    const QRect rect = keyAxis()->axisRect()->rect();
    return {{static_cast<std::int64_t>(range.lower), static_cast<std::int64_t>(range.upper)},
            static_cast<double>(rect.left()),
            static_cast<double>(rect.width())};
  }

  const analysis::LiveStore* store_;
};

}  // namespace highwater::views
