#pragma once

#include <QLabel>
#include <QPainter>

#include "models/plain_tip.h"

namespace highwater::views {

/// A label that is elided if there is no room; the tooltip then has the full text.
class CutLabel final : public QLabel {
 public:
  using QLabel::QLabel;
  [[nodiscard]] QSize minimumSizeHint() const override {
    return {0, QLabel::minimumSizeHint().height()};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const QString cut = fontMetrics().elidedText(text(), Qt::ElideRight, width());
    setToolTip(cut == text() ? QString() : models::plainTip(text()));
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft, cut);
  }
};

}  // namespace highwater::views
