#pragma once

class QPainter;
class QStyleOptionViewItem;
class QTableView;

namespace highwater::views {

/// Gives a table the looks of all tables: one selected row, no grid, no row numbers, and rows and a
/// head of fixed heights, in pixels.
void setUpTable(QTableView& table, int rowHeight, int headHeight);

/// For delegates: fills a cell with the ground of its row. `isFirst`: it is the row's first cell,
/// at whose left edge a bar marks a selected row.
void paintRowGround(QPainter& painter, const QStyleOptionViewItem& cell, bool isFirst);

}  // namespace highwater::views
