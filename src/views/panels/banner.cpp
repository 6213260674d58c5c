#include "views/panels/banner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <algorithm>

#include "models/plain_tip.h"
#include "views/panels/link_button.h"
#include "views/panes/paint.h"

namespace highwater::views {
namespace {

constexpr int kMostLines = 2, kMostExpandedLines = 12;
/// More than two lines of any screen can hold; a message may have 64 KiB.
constexpr int kMostShown = 1000, kMostTip = 4000;

}  // namespace

Banner::Banner(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("endBanner"));
  setAccessibleName(tr("How the run ended"));
  message_ = new QLabel(this);
  message_->setObjectName(QStringLiteral("endBannerMessage"));
  message_->setTextFormat(Qt::PlainText);  // it may quote the measured program
  message_->setWordWrap(true);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  message_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  more_ = linkButton({}, "moreBannerButton", this);
  expand_ = linkButton(tr("Show log"), "endBannerLines", this);
  action_ = linkButton({}, "runAgainButton", this);
  auto* dismiss = linkButton(tr("Dismiss"), "dismissBannerButton", this);
  expand_->setToolTip(tr("Show the end of the log"));

  auto* row = new QHBoxLayout;
  row->setSpacing(12);
  row->addWidget(message_, 1);
  row->addWidget(more_);
  row->addWidget(expand_);
  row->addWidget(action_);
  row->addWidget(dismiss);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(32, 8, 12, 8);
  column->addLayout(row);
  connect(more_, &QToolButton::clicked, this, [this] { setExpanded(!isExpanded_); });
  connect(expand_, &QToolButton::clicked, this, &Banner::linesRequested);
  connect(action_, &QToolButton::clicked, this, &Banner::actionTriggered);
  connect(dismiss, &QToolButton::clicked, this, &QWidget::hide);
  hide();
}

void Banner::showMessage(const QString& message, bool hasLines, Kind kind, const QString& action) {
  kind_ = kind;
  if (message != text_) isExpanded_ = false;
  text_ = message;
  hasLines_ = hasLines;
  action_->setText(action);
  action_->setVisible(!action.isEmpty());
  show();
  layout()->activate();
  fitText();
  update();
}

void Banner::setExpanded(bool expanded) {
  isExpanded_ = expanded;
  fitText();
  update();
}

void Banner::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  layout()->activate();
  fitText();
}

/// Cuts the message at a word, since QLabel wraps but does not elide.
void Banner::fitText() {
  const QFontMetrics metrics(message_->font());
  const int wide = std::max(message_->width(), 80);
  const int most = (isExpanded_ ? kMostExpandedLines : kMostLines) * metrics.lineSpacing();
  const auto fits = [&](const QString& text) {
    return metrics.boundingRect(QRect(0, 0, wide, 10'000), Qt::TextWordWrap, text).height() <= most;
  };
  QString shown = text_.left(isExpanded_ ? kMostTip : kMostShown);
  if (shown != text_) {
    shown += QStringLiteral(" …");
  }
  while (!fits(shown) && !shown.isEmpty()) {
    const auto space = shown.lastIndexOf(QLatin1Char(' '), -3);
    shown = shown.left(space > 0 ? space : shown.size() / 2) + QStringLiteral(" …");
  }
  const bool cut = shown != text_;
  message_->setText(shown);
  message_->setToolTip(cut ? models::plainTip(text_.left(kMostTip)) : QString());
  message_->setFixedHeight(
      metrics.boundingRect(QRect(0, 0, wide, 10'000), Qt::TextWordWrap, shown).height() + 2);
  more_->setText(isExpanded_ ? tr("Less") : tr("More"));
  more_->setVisible(isExpanded_ || cut);
  expand_->setVisible(hasLog_ && (cut || hasLines_));
}

void Banner::setHasLog(bool hasLog) {
  hasLog_ = hasLog;
  if (isVisible()) fitText();
}

QString Banner::message() const {
  return text_;
}

void Banner::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  const bool problem = kind_ == Kind::kProblem;
  const QColor color = problem ? theme.vermillion : theme.text2;
  painter.fillRect(rect(), theme.header);
  painter.fillRect(QRect(0, 0, 3, height()), color);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.separator);
  drawGlyph(painter, problem ? Glyph::kOctagon : Glyph::kSquare,
            {18, message_->geometry().center().y() + 0.5}, color, theme.header);
}

}  // namespace highwater::views
