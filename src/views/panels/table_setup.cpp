#include "views/panels/table_setup.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyleOptionViewItem>
#include <QTableView>

#include "views/theme.h"

namespace highwater::views {

void setUpTable(QTableView& table, int rowHeight, int headHeight) {
  table.setSelectionBehavior(QTableView::SelectRows);
  table.setSelectionMode(QTableView::SingleSelection);
  table.setShowGrid(false);
  table.setFrameShape(QTableView::NoFrame);
  table.setWordWrap(false);
  table.setEditTriggers(QTableView::NoEditTriggers);
  table.setCornerButtonEnabled(false);
  table.setVerticalScrollMode(QTableView::ScrollPerPixel);
  table.setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table.verticalHeader()->hide();
  table.verticalHeader()->setMinimumSectionSize(rowHeight);
  table.verticalHeader()->setDefaultSectionSize(rowHeight);
  table.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table.horizontalHeader()->setFixedHeight(headHeight);
  table.horizontalHeader()->setHighlightSections(false);
}

void paintRowGround(QPainter& painter, const QStyleOptionViewItem& cell, bool isFirst) {
  const Theme& theme = Theme::of(cell.widget);
  const bool selected = cell.state & QStyle::State_Selected;
  painter.fillRect(cell.rect, selected ? theme.selectedRow : theme.panel);
  if (selected && isFirst) {
    painter.fillRect(cell.rect.left(), cell.rect.top(), 2, cell.rect.height(), theme.accent);
  }
}

}  // namespace highwater::views
