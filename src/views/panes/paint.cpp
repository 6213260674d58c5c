#include "views/panes/paint.h"

#include <QHash>
#include <QImage>
#include <QPainterPath>
#include <QPolygonF>
#include <cmath>

namespace highwater::views {
namespace {

/// Caches textures by `key`, which must name everything that they depend on.
QBrush texture(const QString& key, int size, const std::function<void(QPainter&, int)>& paint) {
  static QHash<QString, QBrush> made;
  const auto found = made.constFind(key);
  if (found != made.constEnd()) {
    return *found;
  }
  // Twice the size, so that the texture stays sharp on a HiDPI screen.
  QImage image(size * 2, size * 2, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(2);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  paint(painter, size);
  painter.end();
  const QBrush brush(image);
  made.insert(key, brush);
  return brush;
}

QString keyOf(char kind, const QColor& a, const QColor& b, int spacing) {
  return QStringLiteral("%1%2%3/%4").arg(kind).arg(a.rgba()).arg(b.rgba()).arg(spacing);
}

}  // namespace

void drawGlyph(QPainter& painter, Glyph glyph, QPointF c, const QColor& color,
               const QColor& ground) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  const double x = c.x(), y = c.y();
  switch (glyph) {
    case Glyph::kDiamond:
      painter.drawPolygon(QPolygonF{{x, y - 4.2}, {x + 4.2, y}, {x, y + 4.2}, {x - 4.2, y}});
      break;
    case Glyph::kTriangle:
      painter.drawPolygon(QPolygonF{{x - 4.5, y - 3.5}, {x + 4.5, y - 3.5}, {x, y + 3.5}});
      break;
    case Glyph::kHollowTriangle:
      painter.setPen(QPen(color, 1.2));
      painter.setBrush(Qt::NoBrush);
      painter.drawPolygon(QPolygonF{{x - 4, y - 3}, {x + 4, y - 3}, {x, y + 3}});
      break;
    case Glyph::kPeak:
      painter.drawPolygon(QPolygonF{{x - 3, y - 2.5}, {x + 3, y - 2.5}, {x, y + 2}});
      break;
    case Glyph::kPentagon:
      painter.drawPolygon(
          QPolygonF{{x - 4, y - 5}, {x + 4, y - 5}, {x + 4, y + 1}, {x, y + 5}, {x - 4, y + 1}});
      break;
    case Glyph::kRing:
      painter.setPen(QPen(color, 1.6));
      painter.setBrush(Qt::NoBrush);
      painter.drawEllipse(c, 3.5, 3.5);
      break;
    case Glyph::kOctagon: {
      QPolygonF octagon;
      for (int i = 0; i < 8; ++i) {
        const double angle = (i + 0.5) * M_PI / 4;
        octagon << QPointF(x + 6 * std::cos(angle), y + 6 * std::sin(angle));
      }
      painter.drawPolygon(octagon);
      painter.setPen(QPen(ground, 1.4));
      painter.drawLine(QPointF(x - 2, y - 2), QPointF(x + 2, y + 2));
      painter.drawLine(QPointF(x - 2, y + 2), QPointF(x + 2, y - 2));
      break;
    }
    case Glyph::kSquare:
      painter.drawRect(QRectF(x - 3.5, y - 3.5, 7, 7));
      break;
    case Glyph::kPause:
      painter.drawRect(QRectF(x - 3.5, y - 4, 2.5, 8));
      painter.drawRect(QRectF(x + 1, y - 4, 2.5, 8));
      break;
  }
  painter.restore();
}

void drawPin(QPainter& painter, Pin pin, const QRectF& box, const Theme& theme) {
  const bool filled = pin == Pin::kB;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.accent, 1));
  painter.setBrush(filled ? theme.accentFill : theme.plot);
  painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setFont(textFont(kSmallText, true));
  painter.setPen(filled ? QColor(Qt::white) : theme.accent);
  painter.drawText(box, Qt::AlignCenter, filled ? QStringLiteral("B") : QStringLiteral("A"));
}

Glyph markerGlyph(events::MarkerKind kind) {
  switch (kind) {
    case events::MarkerKind::CacheEmptied:
      return Glyph::kRing;
    case events::MarkerKind::OutOfMemory:
      return Glyph::kOctagon;
    case events::MarkerKind::Note:
    case events::MarkerKind::Recovered:
      return Glyph::kSquare;
    case events::MarkerKind::Paused:
    case events::MarkerKind::Resumed:
      return Glyph::kPause;
    default:
      return Glyph::kPentagon;
  }
}

QColor markerColor(events::MarkerKind kind, const Theme& theme) {
  return kind == events::MarkerKind::OutOfMemory ? theme.vermillion : theme.text1;
}

QBrush hatchBrush(const QColor& line, const QColor& ground, int spacing, bool dense) {
  return texture(keyOf(dense ? 'H' : 'h', line, ground, spacing), spacing,
                 [&](QPainter& painter, int size) {
                   painter.fillRect(0, 0, size, size, ground);
                   painter.setPen(QPen(line, dense ? 1.6 : 1.0));
                   // Also draw the neighbours' lines across the corners, to hide the joints.
                   for (int shift = -size; shift <= size; shift += size) {
                     painter.drawLine(QPointF(shift - 1, size + 1), QPointF(shift + size + 1, -1));
                   }
                 });
}

QBrush dotBrush(const QColor& dot, int spacing) {
  return texture(keyOf('d', dot, {}, spacing), spacing, [&](QPainter& painter, int size) {
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(QRectF(size / 2.0 - 1, size / 2.0 - 1, 1, 1), dot);
  });
}

void drawSwatch(QPainter& painter, Swatch swatch, const QRectF& rect, const QColor& color,
                const Theme& theme) {
  switch (swatch) {
    case Swatch::kNone:
      break;
    case Swatch::kSolid:
      painter.fillRect(rect, color);
      break;
    case Swatch::kHatchSky: {
      QColor ground = theme.sky;
      ground.setAlphaF(0.17f);
      painter.fillRect(rect, hatchBrush(theme.sky, ground, 4));
      break;
    }
    case Swatch::kDots:
      painter.fillRect(rect, dotBrush(color, 3));
      break;
    case Swatch::kHatchVermillion:
      painter.fillRect(
          rect, hatchBrush(theme.isDark ? theme.plot : QColor(Qt::white), theme.vermillion, 4));
      break;
    case Swatch::kLine:
      painter.fillRect(QRectF(rect.left(), rect.center().y() - 0.5, rect.width(), 1.5), color);
      break;
  }
}

QString fitText(const QPainter& painter, const QStringList& forms, double width) {
  for (const QString& form : forms) {
    if (painter.fontMetrics().horizontalAdvance(form) <= width) {
      return form;
    }
  }
  return {};
}

}  // namespace highwater::views
