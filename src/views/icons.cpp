#include "views/icons.h"

#include <QIconEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

#include "views/theme.h"

namespace highwater::views {
namespace {

/// Draws in a square of 16.
void draw(QPainter& p, Icon which, const QColor& color) {
  p.setRenderHint(QPainter::Antialiasing);
  QPen line(color, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin);
  const auto stroke = [&] {
    p.setPen(line);
    p.setBrush(Qt::NoBrush);
  };
  const auto fill = [&] {
    p.setPen(Qt::NoPen);
    p.setBrush(color);
  };
  switch (which) {
    case Icon::kRun:
      fill();
      p.drawPolygon(QPolygonF{{4.5, 3}, {12.5, 8}, {4.5, 13}});
      break;
    case Icon::kPause:
      fill();
      p.drawRect(QRectF(4, 3, 3, 10));
      p.drawRect(QRectF(9, 3, 3, 10));
      break;
    case Icon::kStop:
      fill();
      p.drawRect(QRectF(4, 4, 8, 8));
      break;
    case Icon::kEmptyCache:
      stroke();
      p.drawLine(QPointF(3, 3), QPointF(13, 3));
      p.drawLine(QPointF(8, 13.5), QPointF(8, 6.5));
      p.drawPolyline(QPolygonF{{5, 9}, {8, 6}, {11, 9}});
      break;
    case Icon::kFollow:
      stroke();
      p.drawLine(QPointF(2.5, 8), QPointF(10.5, 8));
      p.drawPolyline(QPolygonF{{7.5, 5}, {10.5, 8}, {7.5, 11}});
      p.drawLine(QPointF(13.5, 3), QPointF(13.5, 13));
      break;
    case Icon::kChip:
      stroke();
      p.drawRoundedRect(QRectF(4, 4, 8, 8), 1.5, 1.5);
      p.drawRect(QRectF(6.5, 6.5, 3, 3));
      for (const double at : {6.0, 10.0}) {
        p.drawLine(QPointF(at, 1.8), QPointF(at, 3.4));
        p.drawLine(QPointF(at, 12.6), QPointF(at, 14.2));
        p.drawLine(QPointF(1.8, at), QPointF(3.4, at));
        p.drawLine(QPointF(12.6, at), QPointF(14.2, at));
      }
      break;
    case Icon::kDetach:
      stroke();
      p.drawRoundedRect(QRectF(2.5, 5.5, 8, 8), 1, 1);
      p.drawPolyline(QPolygonF{{5.5, 5}, {5.5, 2.5}, {13.5, 2.5}, {13.5, 10.5}, {11, 10.5}});
      break;
    case Icon::kClose:
      stroke();
      p.drawLine(QPointF(4, 4), QPointF(12, 12));
      p.drawLine(QPointF(12, 4), QPointF(4, 12));
      break;
    case Icon::kSearch:
      stroke();
      p.drawEllipse(QPointF(7, 7), 4, 4);
      p.drawLine(QPointF(10, 10), QPointF(13.5, 13.5));
      break;
    case Icon::kMark:
      stroke();
      p.drawLine(QPointF(4, 2.5), QPointF(4, 14));
      p.drawPolyline(QPolygonF{{4, 3}, {12.5, 3}, {10.5, 6}, {12.5, 9}, {4, 9}});
      break;
    case Icon::kTimeline:
      stroke();
      p.drawLine(QPointF(2.5, 4), QPointF(9, 4));
      p.drawLine(QPointF(5.5, 8), QPointF(13.5, 8));
      p.drawLine(QPointF(3.5, 12), QPointF(10.5, 12));
      break;
    case Icon::kMap:
      stroke();
      p.drawPolyline(QPolygonF{{3, 2.5}, {3, 13}, {13.5, 13}});
      p.drawLine(QPointF(5.5, 3.5), QPointF(12.5, 10.5));
      fill();
      p.drawEllipse(QPointF(6.5, 9.5), 1.4, 1.4);
      break;
    case Icon::kDropDown:
      stroke();
      p.drawPolyline(QPolygonF{{4.5, 6.5}, {8, 10}, {11.5, 6.5}});
      break;
  }
}

class Engine final : public QIconEngine {
 public:
  Engine(Icon which, QColor color) : which_(which), color_(std::move(color)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    QColor color = color_;
    if (mode == QIcon::Disabled) {
      color.setAlphaF(0.45f);
    }
    painter->save();
    painter->translate(rect.topLeft());
    painter->scale(rect.width() / 16.0, rect.height() / 16.0);
    draw(*painter, which_, color);
    painter->restore();
  }
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, QRect(QPoint(), size), mode, state);
    return pixmap;
  }
  [[nodiscard]] QIconEngine* clone() const override { return new Engine(which_, color_); }

 private:
  Icon which_;
  QColor color_;
};

}  // namespace

QIcon applicationIcon() {
  const Theme& theme = Theme::dark();
  QIcon icon;
  for (const int size : {16, 24, 32, 48, 64, 128, 256, 512}) {
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter p(&pixmap);
    p.setRenderHint(QPainter::Antialiasing);
    p.scale(size / 32.0, size / 32.0);
    QPainterPath tile;
    tile.addRoundedRect(QRectF(1, 1, 30, 30), 7, 7);
    p.fillPath(tile, theme.panel);
    p.setClipPath(tile);
    QPainterPath water(QPointF(1, 24));
    water.cubicTo(6, 24, 6, 14, 11, 14);
    water.cubicTo(16, 14, 16, 21, 21, 21);
    water.cubicTo(26, 21, 26, 13, 31, 13);
    water.lineTo(31, 31);
    water.lineTo(1, 31);
    p.fillPath(water, theme.blue);
    p.fillRect(QRectF(1, 8, 30, 2), theme.text1);
    icon.addPixmap(pixmap);
  }
  return icon;
}

QIcon icon(Icon which, const QColor& color) {
  return QIcon(new Engine(which, color));
}

}  // namespace highwater::views
