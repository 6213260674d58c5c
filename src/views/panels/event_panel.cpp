#include "views/panels/event_panel.h"

#include <QPainter>
#include <QTextLayout>
#include <algorithm>
#include <cmath>

#include "views/panels/copy_actions.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr int kEventHead = 30, kEventRow = 20, kEventGap = 12;
/// The height at which a value is cut; shapes can be long.
constexpr int kMostWrapped = 120;

/// Breaks the text into lines of `wide` pixels, within a word only if it is wider than a line.
/// Returns the height in pixels.
int wrapTo(QTextLayout& layout, int wide) {
  layout.setText(QString(layout.text()).replace(QLatin1Char('\n'), QChar::LineSeparator));
  QTextOption option;
  option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  layout.setTextOption(option);
  layout.beginLayout();
  double y = 0;
  while (y < kMostWrapped) {
    QTextLine line = layout.createLine();
    if (!line.isValid()) {
      break;
    }
    line.setLineWidth(wide);
    line.setPosition({0, y});
    y += line.height();
  }
  layout.endLayout();
  return static_cast<int>(std::ceil(y));
}

}  // namespace

EventPanel::EventPanel(const analysis::LiveStore* store, EventFocus* focus, QWidget* parent)
    : QWidget(parent), store_(store), focus_(focus) {
  setObjectName(QStringLiteral("eventPanel"));
  setAccessibleName(tr("Details of the picked event"));
  connect(focus_, &EventFocus::changed, this, &EventPanel::refresh);
  addCopyText(this, tr("Copy"), [this] {
    QStringList lines;
    for (const auto& [name, value] : facts_) lines << name + QLatin1Char('\t') + value;
    return lines.join(QLatin1Char('\n'));
  });
  refresh();
}

void EventPanel::refresh() {
  facts_ = focus_->picked() ? eventFacts(*store_, *focus_->picked()) : std::vector<EventFact>();
  setVisible(!facts_.empty());
  QStringList spoken;
  for (const auto& [name, value] : facts_) {
    spoken << name + QStringLiteral(": ") + value;
  }
  setAccessibleDescription(spoken.join(QStringLiteral(", ")));
  layOut();
  update();
}

void EventPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  layOut();
}

/// A value that does not fit beside its name goes below it, at full width.
void EventPanel::layOut() {
  const QFontMetrics names(textFont(kText)), values(textFont(kText, true));
  const int wide = std::max(width() - 2 * kPanelInset, 60);
  int y = kEventHead;
  lines_.clear();
  for (const auto& [name, value] : facts_) {
    Line line;
    line.name = {kPanelInset, y, wide, kEventRow};
    line.value = line.name;
    line.wrapped = names.horizontalAdvance(name) + 12 + values.horizontalAdvance(value) > wide;
    if (line.wrapped) {
      QTextLayout text(value, textFont(kText, true));
      line.value = {kPanelInset, y + kEventRow - 2, wide,
                    std::min(wrapTo(text, wide), kMostWrapped)};
      y = line.value.bottom() + 3;
    } else {
      y += kEventRow;
    }
    lines_.push_back(line);
  }
  setFixedHeight(y + kEventGap);
}

void EventPanel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  if (!focus_->picked() || facts_.empty()) {
    return;
  }
  const EventText text = eventText(*store_, *focus_->picked(), theme);
  drawGlyph(painter, text.glyph, {kPanelInset + 5.0, kEventHead / 2.0 + 0.5}, text.color,
            theme.panel);
  painter.setFont(textFont(kText, true));
  painter.setPen(theme.text1);
  const QRect head(kPanelInset + 18, 0, width() - 2 * kPanelInset - 18, kEventHead);
  painter.drawText(head, Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(text.name, Qt::ElideRight, head.width()));
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    painter.drawText(lines_[i].name, Qt::AlignVCenter | Qt::AlignLeft, facts_[i].name);
    painter.setFont(textFont(kText, true));
    painter.setPen(theme.text1);
    if (!lines_[i].wrapped) {
      painter.drawText(lines_[i].value, Qt::AlignVCenter | Qt::AlignRight, facts_[i].value);
      continue;
    }
    QTextLayout wrapped(facts_[i].value, painter.font());
    wrapTo(wrapped, lines_[i].value.width());
    wrapped.draw(&painter, lines_[i].value.topLeft(), {}, lines_[i].value);
  }
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.separator);
}

}  // namespace highwater::views
