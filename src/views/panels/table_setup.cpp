#include "views/panels/table_setup.h"

#include <QHeaderView>
#include <QTableView>

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

}  // namespace highwater::views
