#include "views/banner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QToolButton>

#include "views/paint.h"

namespace highwater::views {

Banner::Banner(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("endBanner"));
  setAccessibleName(tr("How the run ended"));
  message_ = new QLabel(this);
  message_->setObjectName(QStringLiteral("endBannerMessage"));
  message_->setTextFormat(Qt::PlainText);  // it may quote a foreign program
  message_->setWordWrap(true);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  message_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  const auto button = [this](const QString& text, const QString& name) {
    auto* made = new QToolButton(this);
    made->setText(text);
    made->setObjectName(name);
    made->setProperty("kind", "link");
    return made;
  };
  expand_ = button(tr("Last lines"), QStringLiteral("endBannerLines"));
  action_ = button({}, QStringLiteral("runAgainButton"));
  auto* dismiss = button(tr("Dismiss"), QStringLiteral("dismissBannerButton"));
  lines_ = new QPlainTextEdit(this);
  lines_->setObjectName(QStringLiteral("endBannerText"));
  lines_->setReadOnly(true);
  lines_->setMaximumHeight(120);
  lines_->setVisible(false);

  auto* row = new QHBoxLayout;
  row->setSpacing(12);
  row->addWidget(message_, 1);
  row->addWidget(expand_);
  row->addWidget(action_);
  row->addWidget(dismiss);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(32, 8, 12, 8);
  column->addLayout(row);
  column->addWidget(lines_);
  connect(expand_, &QToolButton::clicked, this, [this] { setExpanded(!lines_->isVisible()); });
  connect(action_, &QToolButton::clicked, this, &Banner::actionTriggered);
  connect(dismiss, &QToolButton::clicked, this, &QWidget::hide);
  hide();
}

void Banner::showMessage(const QString& message, const QString& lines, bool problem,
                         const QString& action) {
  problem_ = problem;
  message_->setText(message);
  lines_->setPlainText(lines);
  expand_->setVisible(!lines.isEmpty());
  action_->setText(action);
  action_->setVisible(!action.isEmpty());
  setExpanded(false);
  show();
  update();
}

QString Banner::message() const {
  return message_->text();
}

void Banner::setExpanded(bool expanded) {
  lines_->setVisible(expanded);
  expand_->setText(expanded ? tr("Hide lines") : tr("Last lines"));
}

void Banner::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  const QColor color = problem_ ? theme.vermillion : theme.text2;
  painter.fillRect(rect(), theme.header);
  painter.fillRect(QRect(0, 0, 3, height()), color);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.separator);
  drawGlyph(painter, problem_ ? Glyph::kOctagon : Glyph::kSquare,
            {18, message_->geometry().center().y() + 0.5}, color, theme.header);
}

}  // namespace highwater::views
