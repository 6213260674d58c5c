#pragma once

#include <QTableView>

namespace highwater::window {

/// A table of things to open or start, one row each: a double click or Return chooses a row.
class StartTable : public QTableView {
  Q_OBJECT

 public:
  StartTable(int rowHeight, QWidget* parent);

  /// The row under the mouse; -1 if there is none.
  [[nodiscard]] int hoveredRow() const { return hovered_; }
  /// Sets the text in the middle of the table while it has no rows.
  void setEmptyText(const QString& text) { emptyText_ = text; }

 signals:
  /// The user chose a row.
  void chosen(int row);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void hover(int row);

  int hovered_ = -1;
  QString emptyText_;
};

/// Fills the ground of a cell of a StartTable, with the mark of a selected row at the left of its
/// first column. Returns the room for the cell's text.
QRect paintStartCell(QPainter& painter, const QStyleOptionViewItem& option,
                     const QModelIndex& index);

}  // namespace highwater::window
