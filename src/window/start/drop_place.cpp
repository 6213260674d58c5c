#include "window/start/drop_place.h"

#include <QKeySequence>
#include <QLabel>
#include <QPainter>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/panels/link_button.h"
#include "views/theme.h"

namespace highwater::window {
namespace {

constexpr int kDropHeight = 72;

}  // namespace

DropPlace::DropPlace(QWidget* parent) : QWidget(parent), words_(new QLabel(this)) {
  setFixedHeight(kDropHeight + 2 * views::kPanelInset);
  words_->setObjectName(QStringLiteral("dropWords"));
  words_->setTextFormat(Qt::PlainText);
  words_->setWordWrap(true);
  words_->setAlignment(Qt::AlignCenter);
  auto* choose = views::linkButton(tr("Open recording…"), "chooseRecordingButton", this);
  choose->setToolTip(tr("Choose a file (%1)")
                         .arg(QKeySequence(QKeySequence::Open).toString(QKeySequence::NativeText)));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(views::kPanelInset + 12, views::kPanelInset + 8,
                             views::kPanelInset + 12, views::kPanelInset + 8);
  column->setSpacing(2);
  column->addStretch(1);
  column->addWidget(words_);
  column->addWidget(choose, 0, Qt::AlignHCenter);
  column->addStretch(1);
  connect(choose, &QToolButton::clicked, this, &DropPlace::chooseRequested);
  showProblem({});
}

void DropPlace::showDrag(bool dragged) {
  dragged_ = dragged;
  update();
}

void DropPlace::showProblem(const QString& problem) {
  words_->setText(problem.isEmpty() ? tr("Drop a .highwater file anywhere in this window, or")
                                    : problem);
  words_->setProperty("kind", problem.isEmpty() ? "quiet" : "wrong");
  style()->unpolish(words_);
  style()->polish(words_);
}

void DropPlace::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const views::Theme& theme = views::Theme::of(this);
  painter.fillRect(rect(), theme.panel);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(dragged_ ? theme.accent : theme.strongLine, 1, Qt::DashLine));
  painter.setBrush(dragged_ ? theme.selectionTint : theme.plot);
  painter.drawRoundedRect(
      QRectF(rect()).adjusted(views::kPanelInset + 0.5, views::kPanelInset + 0.5,
                              -views::kPanelInset - 0.5, -views::kPanelInset - 0.5),
      4, 4);
}

}  // namespace highwater::window
