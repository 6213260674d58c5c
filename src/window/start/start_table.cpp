#include "window/start/start_table.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>

#include "views/panels/table_setup.h"
#include "views/theme.h"

namespace highwater::window {

using views::Theme;

StartTable::StartTable(int rowHeight, QWidget* parent) : QTableView(parent) {
  constexpr int kHead = 24;
  views::setUpTable(*this, rowHeight, kHead);
  setMouseTracking(true);
  setTabKeyNavigation(false);
  horizontalHeader()->setSectionsClickable(false);
  connect(this, &QTableView::doubleClicked, this,
          [this](const QModelIndex& index) { emit chosen(index.row()); });
}

void StartTable::keyPressEvent(QKeyEvent* event) {
  const bool enters = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enters && currentIndex().isValid()) {
    emit chosen(currentIndex().row());
    return;
  }
  QTableView::keyPressEvent(event);
}

void StartTable::hover(int row) {
  if (hovered_ == row) return;
  hovered_ = row;
  viewport()->update();
}

void StartTable::mouseMoveEvent(QMouseEvent* event) {
  hover(indexAt(event->pos()).row());
  QTableView::mouseMoveEvent(event);
}

void StartTable::leaveEvent(QEvent* event) {
  hover(-1);
  QTableView::leaveEvent(event);
}

void StartTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  if (!model() || model()->rowCount() > 0 || emptyText_.isEmpty()) return;
  QPainter painter(viewport());
  painter.setPen(Theme::of(this).text3);
  painter.drawText(viewport()->rect(), Qt::AlignCenter, emptyText_);
}

QRect paintStartCell(QPainter& painter, const QStyleOptionViewItem& option,
                     const QModelIndex& index) {
  const auto* table = qobject_cast<const StartTable*>(option.widget);
  const Theme& theme = Theme::of(option.widget);
  const bool selected = option.state & QStyle::State_Selected;
  const bool hovered = table && table->hoveredRow() == index.row();
  painter.fillRect(option.rect, selected  ? theme.selectedRow
                                : hovered ? theme.header
                                          : theme.panel);
  const bool first = index.column() == 0;
  if (selected && first) {
    painter.fillRect(option.rect.left(), option.rect.top(), 2, option.rect.height(), theme.accent);
  }
  return option.rect.adjusted(first ? 12 : 8, 0, -8, 0);
}

}  // namespace highwater::window
