#include "views/panels/details_strip.h"

#include <QHBoxLayout>
#include <QPainter>

#include "views/lanes/event_text.h"
#include "views/panels/link_button.h"
#include "views/panes/paint.h"

namespace highwater::views {
namespace {

constexpr int kHeight = 28;

}  // namespace

DetailsStrip::DetailsStrip(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent)
    : QWidget(parent), store_(store), focus_(focus) {
  setObjectName(QStringLiteral("detailsStrip"));
  setAccessibleName(tr("Details of the selected event"));
  setFixedHeight(kHeight);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 12, 1);
  layout->setSpacing(4);
  layout->addStretch();
  previous_ = linkButton(tr("Previous"), "previousEventButton", this);
  previous_->setToolTip(tr("Previous event of this kind (,)"));
  next_ = linkButton(tr("Next"), "nextEventButton", this);
  next_->setToolTip(tr("Next event of this kind (.)"));
  for (QToolButton* button : {previous_, next_}) {
    button->setFocusPolicy(Qt::NoFocus);
    layout->addWidget(button);
  }
  connect(previous_, &QToolButton::clicked, focus_, [this] { focus_->previous(); });
  connect(next_, &QToolButton::clicked, focus_, [this] { focus_->next(); });
  connect(focus_, &EventFocus::changed, this, &DetailsStrip::refresh);
  refresh();
}

void DetailsStrip::refresh() {
  const bool any =
      !store_->fallbackLane().empty() || !store_->syncLane().empty() || !store_->ops().empty();
  previous_->setVisible(any);
  next_->setVisible(any);
  update();
}

void DetailsStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  painter.fillRect(rect(), theme.panel);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.separator);
  const QRectF line(12, 0, previous_->isVisible() ? previous_->x() - 24 : width() - 24,
                    height() - 1);
  if (!focus_->picked() || !exists(*store_, *focus_->picked())) {
    painter.setFont(textFont(kText));
    painter.setPen(theme.text3);
    const QString hint = tr("Click a span for its details. Drag selects a range, ? lists the keys");
    painter.drawText(line, Qt::AlignVCenter,
                     fitText(painter, {hint, tr("Click a span for its details")}, line.width()));
    return;
  }
  const EventText text = eventText(*store_, *focus_->picked(), theme);
  drawGlyph(painter, text.glyph, {line.left() + 5, line.center().y()}, text.color, theme.panel);
  double x = line.left() + 20;
  const auto put = [&](const QString& word, bool semibold, const QColor& color) {
    painter.setFont(textFont(kText, semibold));
    const double width = painter.fontMetrics().horizontalAdvance(word) + 2;
    if (word.isEmpty() || x + width > line.right()) {
      return;
    }
    painter.setPen(color);
    painter.drawText(QRectF(x, 0, width, line.height()), Qt::AlignVCenter, word);
    x += width + 16;
  };
  put(text.name, true, theme.text1);
  put(text.length, false, theme.text1);
  for (const QString& detail : text.details) {
    put(detail, false, theme.text2);
  }
}

}  // namespace highwater::views
