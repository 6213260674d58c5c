#include "window/start/start_block.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include "views/theme.h"

namespace highwater::window {

using views::Theme;

StartBlock::StartBlock(const QString& title, QWidget* parent) : QWidget(parent) {
  column_ = new QVBoxLayout(this);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(0);
  bar_ = new QWidget(this);
  bar_->setFixedHeight(kTitleHeight);
  barRow_ = new QHBoxLayout(bar_);
  barRow_->setContentsMargins(12, 0, 8, 0);
  barRow_->setSpacing(8);
  auto* name = new QLabel(title, bar_);
  name->setProperty("kind", "title");
  subtitle_ = new QLabel(bar_);
  subtitle_->setTextFormat(Qt::PlainText);
  subtitle_->setProperty("kind", "quiet");
  barRow_->addWidget(name);
  barRow_->addWidget(subtitle_);
  barRow_->addStretch(1);
  column_->addWidget(bar_);
}

void StartBlock::setSubtitle(const QString& text) {
  subtitle_->setText(text);
}

void StartBlock::addToTitle(QWidget* widget) {
  barRow_->addWidget(widget);
}

void StartBlock::add(QWidget* widget, int stretch) {
  column_->addWidget(widget, stretch);
}

void StartBlock::setTitleShown(bool shown) {
  bar_->setVisible(shown);
}

void StartBlock::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  painter.fillRect(rect(), theme.panel);
  if (bar_->isVisibleTo(this)) {
    painter.fillRect(bar_->geometry(), theme.header);
    painter.fillRect(QRect(0, bar_->geometry().bottom(), width(), 1), theme.separator);
    painter.fillRect(QRect(0, 0, width(), 1), theme.separator);
  }
}

SeparatorLine::SeparatorLine(Qt::Orientation orientation, QWidget* parent) : QWidget(parent) {
  setOrientation(orientation);
}

void SeparatorLine::setOrientation(Qt::Orientation orientation) {
  setMinimumSize(1, 1);
  const bool vertical = orientation == Qt::Vertical;
  setMaximumSize(vertical ? 1 : QWIDGETSIZE_MAX, vertical ? QWIDGETSIZE_MAX : 1);
}

void SeparatorLine::paintEvent(QPaintEvent*) {
  QPainter(this).fillRect(rect(), Theme::of(this).separator);
}

}  // namespace highwater::window
