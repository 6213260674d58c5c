#include "views/panels/details_strip.h"

#include <QHBoxLayout>
#include <QPainter>
#include <algorithm>

#include "models/plain_tip.h"
#include "models/qt_text.h"
#include "views/lanes/event_text.h"
#include "views/panels/link_button.h"
#include "views/panes/paint.h"

namespace highwater::views {
namespace {

constexpr int kStripHeight = 28;
constexpr double kLeft = 12, kTextLeft = 32, kStripGap = 16;

/// The memory when the event began: that of the last sample before.
QString memoryText(const analysis::LiveStore& store, std::int64_t ns) {
  const auto& memory = store.memory();
  const auto after = std::upper_bound(memory.timesNs.begin(), memory.timesNs.end(), ns);
  if (after == memory.timesNs.begin()) {
    return {};
  }
  const auto row = static_cast<std::size_t>(after - memory.timesNs.begin() - 1);
  return DetailsStrip::tr("live %1, driver %2")
      .arg(bytesText(memory.current[row]), bytesText(memory.driver[row]));
}

}  // namespace

DetailsStrip::DetailsStrip(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent)
    : QWidget(parent), store_(store), focus_(focus) {
  setObjectName(QStringLiteral("detailsStrip"));
  setAccessibleName(tr("Details of the selected event"));
  setFixedHeight(kStripHeight);
  callSite_ = linkButton({}, "callSiteButton", this);
  callSite_->hide();
  connect(callSite_, &QToolButton::clicked, focus_, [this] { focus_->openSource(site_); });
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
  layOut();
  update();
}

void DetailsStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  layOut();
}

double DetailsStrip::right() const {
  if (previous_->isHidden()) {
    return width() - kLeft;
  }
  return width() - kLeft - 4 - previous_->sizeHint().width() - next_->sizeHint().width() -
         kStripGap;
}

void DetailsStrip::layOut() {
  words_.clear();
  site_ = kNoId;
  const auto& picked = focus_->picked();
  if (!picked || !exists(*store_, *picked)) {
    callSite_->hide();
    setAccessibleDescription({});
    return;
  }
  const EventText described = eventText(*store_, *picked);
  const CallSiteId site = callSiteOf(*store_, *picked);
  const QString siteText = text(store_->callSite(site));
  const bool link = focus_->hasSource(site);
  double x = kTextLeft, free = right();
  if (link) {
    site_ = site;
    callSite_->setText(text(store_->callSiteParts(site).line));
    callSite_->setToolTip(
        models::plainTip(tr("Open %1 in the editor").arg(text(store_->callStack(site)))));
    callSite_->setAccessibleName(tr("Open %1 in the editor").arg(siteText));
    callSite_->adjustSize();
    free -= callSite_->width() + kStripGap;
  }
  const auto put = [&](const QString& word, bool semibold, bool quiet) {
    const double wide = QFontMetricsF(textFont(kText, semibold)).horizontalAdvance(word) + 2;
    if (!word.isEmpty() && x + wide <= free) {
      words_.push_back({word, semibold, quiet, x, wide});
      x += wide + kStripGap;
    }
  };
  put(described.name, true, false);
  put(described.length, false, false);
  for (const QString& detail : described.details) {
    if (!link || detail != siteText) {
      put(detail, false, true);
    }
  }
  put(memoryText(*store_, timeRangeOf(*store_, *picked).beginNs), false, true);
  callSite_->setVisible(link && x + callSite_->width() <= right());
  callSite_->move(static_cast<int>(x) - 2, (height() - 1 - callSite_->height()) / 2);
  setAccessibleDescription(words().join(QStringLiteral(", ")));
}

QStringList DetailsStrip::words() const {
  QStringList texts;
  for (const Word& word : words_) {
    texts << word.text;
  }
  return texts;
}

void DetailsStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  painter.fillRect(rect(), theme.panel);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.separator);
  if (!focus_->picked() || !exists(*store_, *focus_->picked())) {
    const QRectF line(kLeft, 0, right() - kLeft, height() - 1);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text3);
    const QString hint = tr("Click a span for its details. Drag selects a range, ? lists the keys");
    painter.drawText(line, Qt::AlignVCenter,
                     fitText(painter, {hint, tr("Click a span for its details")}, line.width()));
    return;
  }
  const EventText described = eventText(*store_, *focus_->picked(), theme);
  drawGlyph(painter, described.glyph, {kLeft + 5, (height() - 1) / 2.0}, described.color,
            theme.panel);
  for (const Word& word : words_) {
    painter.setFont(textFont(kText, word.semibold));
    painter.setPen(word.quiet ? theme.text2 : theme.text1);
    painter.drawText(QRectF(word.x, 0, word.width, height() - 1), Qt::AlignVCenter, word.text);
  }
}

}  // namespace highwater::views
