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
  /// Where the text is elided; a path is in the middle.
  void setElideMode(Qt::TextElideMode mode) {
    mode_ = mode;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const QString cut = fontMetrics().elidedText(text(), mode_, width());
    setToolTip(cut == text() ? QString() : models::plainTip(text()));
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft, cut);
  }

 private:
  Qt::TextElideMode mode_ = Qt::ElideRight;
};

}  // namespace highwater::views
