#include "window/start/mark_legend.h"

#include <QPainter>
#include <vector>

#include "views/panes/memory_scale.h"
#include "views/panes/paint.h"
#include "views/theme.h"

namespace highwater::window {

using views::Glyph;
using views::Swatch;
using views::Theme;

namespace {

constexpr int kTop = 10, kGlyphRow = 22, kBandRow = 32, kLineRow = 20, kSwatch = 40;

struct GlyphMeaning {
  Glyph glyph;
  QColor color;
  QString name, detail;
};

std::vector<GlyphMeaning> glyphMeanings(const Theme& theme) {
  using events::MarkerKind;
  const auto marker = [&](MarkerKind kind, const QString& name) {
    return GlyphMeaning{views::markerGlyph(kind), views::markerColor(kind, theme), name, {}};
  };
  return {{Glyph::kDiamond, theme.vermillion, MarkLegend::tr("fallback"),
           MarkLegend::tr("the op ran on the CPU")},
          {Glyph::kTriangle, theme.orange, MarkLegend::tr("unplanned sync"),
           MarkLegend::tr("the host waits")},
          {Glyph::kHollowTriangle, theme.sky, MarkLegend::tr("planned sync"),
           MarkLegend::tr("such as a logged loss")},
          {Glyph::kPeak, theme.text1, MarkLegend::tr("peak of a step"), {}},
          marker(MarkerKind::BatchSize, MarkLegend::tr("a setting changed")),
          marker(MarkerKind::CacheEmptied, MarkLegend::tr("cache emptied")),
          marker(MarkerKind::Note, MarkLegend::tr("your mark or note")),
          marker(MarkerKind::OutOfMemory, MarkLegend::tr("out of memory"))};
}

struct BandMeaning {
  Swatch swatch;
  QColor color;
  QString name, detail;
};

std::vector<BandMeaning> bandMeanings(const Theme& theme) {
  return {{Swatch::kSolid, theme.blue, MarkLegend::tr("live"), MarkLegend::tr("tensors in use")},
          {Swatch::kHatchSky, theme.sky, MarkLegend::tr("cached"),
           MarkLegend::tr("kept by the allocator for reuse")},
          {Swatch::kDots, theme.grey, MarkLegend::tr("hidden"),
           MarkLegend::tr("rest of the process, estimate")}};
}

void drawText(QPainter& painter, const QRect& room, const QString& text, const QColor& color) {
  painter.setPen(color);
  painter.drawText(room, Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(text, Qt::ElideRight, room.width()));
}

void drawGlyphs(QPainter& painter, const QRect& room, const Theme& theme) {
  int y = room.top();
  painter.setFont(views::textFont(views::kText));
  for (const GlyphMeaning& each : glyphMeanings(theme)) {
    views::drawGlyph(painter, each.glyph, {room.left() + 6.0, y + kGlyphRow / 2.0}, each.color,
                     theme.panel);
    QRect line(room.left() + 22, y, room.width() - 22, kGlyphRow);
    const QString name = each.detail.isEmpty() ? each.name : each.name + u':';
    drawText(painter, line, name, theme.text1);
    line.setLeft(line.left() + painter.fontMetrics().horizontalAdvance(name) + 5);
    drawText(painter, line, each.detail, theme.text2);
    y += kGlyphRow;
  }
}

void drawBands(QPainter& painter, const QRect& room, const Theme& theme) {
  int y = room.top();
  const QRect text(room.left() + kSwatch + 10, y, room.width() - kSwatch - 10, kBandRow);
  for (const BandMeaning& each : bandMeanings(theme)) {
    const QRect swatch(room.left(), y + 8, kSwatch, 16);
    painter.fillRect(swatch, theme.plot);
    views::drawSwatch(painter, each.swatch, swatch, each.color, theme);
    if (each.swatch == Swatch::kHatchSky)
      painter.fillRect(swatch.left(), swatch.top(), kSwatch, 1, theme.sky);
    painter.setFont(views::textFont(views::kText));
    drawText(painter, QRect(text.left(), y, text.width(), 17), each.name, theme.text1);
    painter.setFont(views::textFont(views::kSmallText));
    drawText(painter, QRect(text.left(), y + 15, text.width(), 15), each.detail, theme.text2);
    y += kBandRow;
  }
  y += 6;
  painter.setFont(views::textFont(views::kText));
  const std::pair<QString, QList<qreal>> limits[] = {
      {MarkLegend::tr("recommended"), {}},
      {MarkLegend::tr("low watermark"), views::kLowWatermarkDashes},
      {MarkLegend::tr("high watermark"), views::kHighWatermarkDashes}};
  for (const auto& [name, dashes] : limits) {
    QPen pen(theme.text1, 1);
    if (!dashes.isEmpty()) pen.setDashPattern(dashes);
    painter.setPen(pen);
    const double middle = y + kLineRow / 2.0 + 0.5;
    painter.drawLine(QPointF(room.left(), middle), QPointF(room.left() + kSwatch, middle));
    drawText(painter, QRect(text.left(), y, text.width(), kLineRow), name, theme.text1);
    y += kLineRow;
  }
}

}  // namespace

MarkLegend::MarkLegend(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("markLegend"));
  QStringList all;
  for (const auto& each : glyphMeanings(Theme::light())) all << each.name;
  for (const auto& each : bandMeanings(Theme::light())) all << each.name;
  setAccessibleName(tr("Marks in the timeline"));
  setAccessibleDescription(all.join(QStringLiteral(", ")));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::MinimumExpanding);
}

void MarkLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  painter.fillRect(rect(), theme.panel);
  const int left = (width() - 2 * views::kPanelInset) * 54 / 100;
  drawGlyphs(painter, QRect(views::kPanelInset, kTop, left - 8, height()), theme);
  drawBands(
      painter,
      QRect(views::kPanelInset + left, kTop - 2, width() - 2 * views::kPanelInset - left, height()),
      theme);
}

}  // namespace highwater::window
