#include "views/tuning/plot_header.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

#include "views/panes/paint.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr int kLine = 18, kBetween = 14, kBesideSwatch = 6;

}  // namespace

PlotHeader::PlotHeader(const QString& title, QWidget* parent) : QWidget(parent), title_(title) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void PlotHeader::setTitle(const QString& title) {
  title_ = title;
  fitHeight();
  update();
}

void PlotHeader::setSubtitle(const QStringList& forms) {
  if (forms == subtitle_) return;
  subtitle_ = forms;
  fitHeight();
  setToolTip(forms.value(0));
  update();
}

void PlotHeader::setEntries(std::vector<LegendEntry> entries) {
  entries_ = std::move(entries);
  fitHeight();
  update();
}

std::vector<QRectF> PlotHeader::entryRects(int width) const {
  const QFontMetricsF metrics(textFont(kSmallText));
  std::vector<QRectF> rects;
  double x = kPanelInset, y = titleHeight();
  for (const LegendEntry& each : entries_) {
    const double needed =
        each.swatchWidth + kBesideSwatch + metrics.horizontalAdvance(each.text) + 1;
    const double corner = width - kPanelInset - needed;
    if (titleShown_ && &each == &entries_.back() && entries_.size() > 1 &&
        corner > kPanelInset + titleWidth() + kBetween) {
      rects.emplace_back(corner, 4, needed, kLine);
      break;
    }
    if (x > kPanelInset && x + needed > width - kPanelInset) {
      x = kPanelInset;
      y += kLine;
    }
    rects.emplace_back(x, y, needed, kLine);
    x += needed + kBetween;
  }
  return rects;
}

int PlotHeader::heightForWidth(int width) const {
  const std::vector<QRectF> rects = entryRects(width);
  double bottom = titleHeight();
  for (const QRectF& each : rects) bottom = std::max(bottom, each.bottom() + 2);
  return static_cast<int>(bottom);
}

int PlotHeader::titleHeight() const {
  return titleShown_ ? kTitleHeight : 4;
}

double PlotHeader::titleWidth() const {
  return QFontMetricsF(textFont(kText, true)).horizontalAdvance(title_) + 8 +
         QFontMetricsF(textFont(kText)).horizontalAdvance(subtitle_.value(0));
}

void PlotHeader::setTitleShown(bool shown) {
  if (shown == titleShown_) return;
  titleShown_ = shown;
  fitHeight();
  update();
}

QSize PlotHeader::sizeHint() const {
  const int wanted = width() > 0 ? width() : 400;
  return {wanted, heightForWidth(wanted)};
}

void PlotHeader::fitHeight() {
  const int needed = heightForWidth(width());
  if (needed != height()) setFixedHeight(needed);
}

void PlotHeader::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitHeight();
}

void PlotHeader::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  painter.fillRect(rect(), theme.plot);
  if (titleShown_) paintTitle(painter);
  painter.setFont(textFont(kSmallText));
  const std::vector<QRectF> rects = entryRects(width());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const LegendEntry& entry = entries_[i];
    const QRectF swatch(rects[i].left(), rects[i].center().y() - 5, entry.swatchWidth, 10);
    painter.save();
    entry.draw(painter, swatch, theme);
    painter.restore();
    painter.setPen(theme.text2);
    painter.drawText(rects[i].adjusted(entry.swatchWidth + kBesideSwatch, 0, 2, 0),
                     Qt::AlignVCenter, entry.text);
  }
}

void PlotHeader::paintTitle(QPainter& painter) const {
  const Theme& theme = Theme::of(this);
  painter.setFont(textFont(kText, true));
  painter.setPen(theme.text1);
  const double titleWidth = painter.fontMetrics().horizontalAdvance(title_);
  painter.drawText(QRectF(kPanelInset, 0, titleWidth + 2, kTitleHeight), Qt::AlignVCenter, title_);
  painter.setFont(textFont(kText));
  painter.setPen(theme.text2);
  const double left = kPanelInset + titleWidth + 8, room = width() - kPanelInset - left;
  painter.drawText(QRectF(left, 0, room, kTitleHeight), Qt::AlignVCenter,
                   fitText(painter, subtitle_, room));
}

}  // namespace highwater::views
