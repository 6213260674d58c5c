#include "views/panels/key_value_view.h"

#include <QAbstractItemModel>
#include <QAccessible>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "models/table_text.h"
#include "views/panels/copy_actions.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr int kValueRow = 22, kValuesTop = 6;

}  // namespace

KeyValueView::KeyValueView(QAbstractItemModel* model, QWidget* parent)
    : QWidget(parent), model_(model) {
  const auto relayout = [this] {
    updateGeometry();
    update();
  };
  connect(model_, &QAbstractItemModel::modelReset, this, relayout);
  connect(model_, &QAbstractItemModel::dataChanged, this, [this] {
    update();
    describe();
  });
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  addCopyText(this, tr("Copy"), [this] {
    QStringList lines;
    for (int row = 0; row < model_->rowCount(); ++row) {
      lines << models::rowText(*model_, row, {0, 1});
    }
    return lines.join(QLatin1Char('\n'));
  });
}

void KeyValueView::describe() {
  if (!QAccessible::isActive()) {
    return;
  }
  QStringList lines;
  for (int row = 0; row < model_->rowCount(); ++row) {
    lines << model_->index(row, 0).data().toString() + QStringLiteral(": ") +
                 model_->index(row, 1).data().toString();
  }
  setAccessibleDescription(lines.join(QStringLiteral(", ")));
}

QSize KeyValueView::sizeHint() const {
  return {200, model_->rowCount() * kValueRow + 2 * kValuesTop};
}

void KeyValueView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = Theme::of(this);
  for (int row = 0; row < model_->rowCount(); ++row) {
    const QRect line(inset_, kValuesTop + row * kValueRow, width() - 2 * inset_, kValueRow);
    const QString name = model_->index(row, 0).data().toString();
    const QString value = model_->index(row, 1).data().toString();
    painter.setFont(textFont(kText, true));
    const int valueWidth = painter.fontMetrics().horizontalAdvance(value);
    painter.setPen(theme.text1);
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, value);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    painter.drawText(
        line, Qt::AlignLeft | Qt::AlignVCenter,
        painter.fontMetrics().elidedText(name, Qt::ElideRight, line.width() - valueWidth - 8));
  }
}

bool KeyValueView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const int row = (help->pos().y() - kValuesTop) / kValueRow;
    const QString tip = model_->index(row, 0).data(Qt::ToolTipRole).toString();
    tip.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), tip, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace highwater::views
