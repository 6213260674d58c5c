#pragma once

class QTableView;

namespace highwater::views {

/// Gives a table the looks of all tables: one selected row, no grid, no row numbers, and rows and a
/// head of fixed heights, in pixels.
void setUpTable(QTableView& table, int rowHeight, int headHeight);

}  // namespace highwater::views
