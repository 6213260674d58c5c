#pragma once

#include <QPainter>
#include <QSlider>
#include <cmath>

#include "views/theme.h"

namespace highwater::views {

/// A slider that paints a tick for each stop, since a style sheet removes QSlider's own ticks.
class StopSlider final : public QSlider {
 public:
  using QSlider::QSlider;

 protected:
  void paintEvent(QPaintEvent* event) override {
    QPainter painter(this);
    const int stops = maximum() - minimum();
    const double inset = 6, length = width() - 2 * inset - 1;
    const int each = stops > 16 ? 4 : 1;
    for (int i = 0; stops > 0 && i <= stops; i += each) {
      painter.fillRect(QRectF(std::round(inset + length * i / stops), height() - 5, 1, 3),
                       Theme::of(this).strongLine);
    }
    painter.end();
    QSlider::paintEvent(event);
  }
};

}  // namespace highwater::views
