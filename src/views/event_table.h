#pragma once

#include <QTableView>

namespace highwater::views {

/// A table in the look of the window: rows of 24, numbers at the right, one row selected, no grid.
/// A text over its middle says what will stand there while it is empty.
class EventTable : public QTableView {
  Q_OBJECT

 public:
  explicit EventTable(QWidget* parent = nullptr);

  void setModel(QAbstractItemModel* model) override;
  void setEmptyText(const QString& text);
  /// Widths by column, in pixels; the last column takes the rest.
  void setColumnWidths(const QList<int>& widths);
  /// Draws the share as a bar with its text behind, and a kind's glyph before the op.
  enum class Kind { kFallbacks, kSyncPoints, kOps };
  void setOpLook(Kind kind, int opColumn, int shareColumn);
  /// Selects a row without telling anybody; -1 clears.
  void markRow(int row);

 signals:
  /// The user picked a row, by mouse or keyboard.
  void rowPicked(int row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyboardSearch(const QString&) override {}  ///< letters are the timeline's

 private:
  QString emptyText_;
  bool marking_ = false;
};

}  // namespace highwater::views
