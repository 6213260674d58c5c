#include "views/panels/search_button.h"

#include <QPainter>

#include "views/icons.h"
#include "views/key_text.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr int kButtonHeight = 28, kWideButton = 212, kNarrowButton = 116, kGlass = 34, kKey = 18;

}  // namespace

SearchButton::SearchButton(QWidget* parent) : QAbstractButton(parent) {
  setObjectName(QStringLiteral("searchButton"));
  setText(tr("Search ops and markers"));
  setAccessibleName(tr("Search"));
  setToolTip(tr("Search ops, modules, markers, call sites and the log (/ or %1)")
                 .arg(keyText(QKeySequence::Find)));
  setFocusPolicy(Qt::TabFocus);
  setAttribute(Qt::WA_Hover);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setFixedSize(sizeHint());
}

void SearchButton::setForm(Form form) {
  if (form == form_) {
    return;
  }
  form_ = form;
  setText(form == Form::kFull ? tr("Search ops and markers") : tr("Search"));
  setFixedSize(sizeHint());
  update();
}

int SearchButton::widthOf(Form form) {
  return form == Form::kFull ? kWideButton : form == Form::kShort ? kNarrowButton : kGlass;
}

QSize SearchButton::sizeHint() const {
  return {widthOf(form_), kButtonHeight};
}

void SearchButton::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const Theme& theme = Theme::of(this);
  const bool lit = isEnabled() && (underMouse() || hasFocus());
  painter.setPen(lit ? theme.accent : theme.controlBorder);
  painter.setBrush(isDown() ? theme.selectedRow : theme.control);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  const QColor quiet = isEnabled() ? theme.text2 : theme.text3;
  const int left = form_ == Form::kGlass ? (width() - 16) / 2 : 9;
  views::icon(Icon::kSearch, quiet).paint(&painter, QRect(left, (height() - 16) / 2, 16, 16));
  if (form_ == Form::kGlass) {
    return;
  }
  painter.setFont(textFont(kText));
  painter.setPen(quiet);
  painter.drawText(QRect(31, 0, width() - 31 - kKey - 12, height()), Qt::AlignVCenter, text());
  const QRectF key(width() - kKey - 6.5, (height() - kKey) / 2.0 + 0.5, kKey - 1, kKey - 1);
  painter.setPen(theme.controlBorder);
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(key, 3, 3);
  painter.setFont(textFont(kSmallText));
  painter.setPen(quiet);
  painter.drawText(key, Qt::AlignCenter, QStringLiteral("/"));
}

}  // namespace highwater::views
