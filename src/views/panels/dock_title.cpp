#include "views/panels/dock_title.h"

#include <QDockWidget>
#include <QEvent>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QPainter>
#include <QTabBar>
#include <QToolButton>

#include "views/icons.h"
#include "views/panels/cut_label.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

QToolButton* titleButton(const QString& tip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setProperty("kind", "flat");
  button->setFixedSize(20, 20);
  button->setIconSize({12, 12});
  button->setFocusPolicy(Qt::NoFocus);
  return button;
}

}  // namespace

DockTitle::DockTitle(const QString& title, QDockWidget* dock) : QWidget(dock), dock_(dock) {
  row_ = new QHBoxLayout(this);
  row_->setContentsMargins(12, 0, 6, 1);
  row_->setSpacing(4);
  title_ = new QLabel(title, this);
  title_->setProperty("kind", "title");
  subtitle_ = new CutLabel(this);
  subtitle_->setTextFormat(Qt::PlainText);
  subtitle_->setProperty("kind", "quiet");
  subtitle_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  float_ = titleButton(tr("Detach or put back"), this);
  close_ = titleButton(tr("Close (View menu brings it back)"), this);
  row_->addWidget(title_);
  row_->addSpacing(4);
  row_->addWidget(subtitle_, 1);
  row_->addWidget(float_);
  row_->addWidget(close_);
  connect(float_, &QToolButton::clicked, dock, [dock] { dock->setFloating(!dock->isFloating()); });
  connect(close_, &QToolButton::clicked, dock, &QDockWidget::close);
  updateIcons();
}

DockTitle* DockTitle::of(const QDockWidget* dock) {
  return static_cast<DockTitle*>(dock->titleBarWidget());
}

void DockTitle::setTitle(const QString& text) {
  title_->setText(text);
}

void DockTitle::setSubtitle(const QString& text) {
  subtitle_->setText(text);
}

QString DockTitle::subtitle() const {
  return subtitle_->text();
}

QTabBar* DockTitle::useTabs() {
  tabs_ = new QTabBar(this);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setFocusPolicy(Qt::TabFocus);
  title_->hide();
  row_->setContentsMargins(0, 0, 6, 0);
  row_->insertWidget(0, tabs_);
  return tabs_;
}

void DockTitle::addWidget(QWidget* widget) {
  row_->insertWidget(row_->indexOf(float_), widget);
}

void DockTitle::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  painter.fillRect(rect(), theme.header);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.separator);
}

void DockTitle::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) {
    updateIcons();
  }
  QWidget::changeEvent(event);
}

void DockTitle::updateIcons() {
  float_->setIcon(icon(Icon::kDetach, Theme::of(this).text3));
  close_->setIcon(icon(Icon::kClose, Theme::of(this).text3));
}

}  // namespace highwater::views
