#pragma once

#include <QTableView>

#include "models/sorted_rows.h"

namespace highwater::views {

/// A table in the look of the window: rows of 24, numbers at the right, one row selected, no grid.
/// A click on a head sorts by it, a second one the other way round. A text over its middle says
/// what will stand there while it is empty.
///
/// Its own model() is a models::SortedRows; the rows that it speaks of are those of the model that
/// it was given.
class EventTable : public QTableView {
  Q_OBJECT

 public:
  explicit EventTable(QWidget* parent = nullptr);

  void setModel(QAbstractItemModel* model) override;
  void setEmptyText(const QString& text);
  /// See models::SortedRows::setNaturalOrder(). Shown so from the start.
  void setNaturalOrder(int column, Qt::SortOrder order);
  /// Shows only rows with the text in a name or place.
  void setFilter(const QString& text);
  /// Widths by column, in pixels; the last column takes the rest. Where there is much of it, the
  /// names of setOpLook() get some, up to twice their width, until the user sizes them.
  void setColumnWidths(const QList<int>& widths);
  /// Draws the share as a bar with its text behind, and a kind's glyph before the op.
  enum class Kind { kFallbacks, kSyncPoints, kOps };
  void setOpLook(Kind kind, int opColumn, int shareColumn);
  /// Selects a row without telling anybody; -1 clears, and so does one that the filter hides.
  void markRow(int row);

 signals:
  /// The user picked a row, by mouse or keyboard.
  void rowPicked(int row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyboardSearch(const QString&) override {}  ///< letters are the timeline's

 private:
  void widenNames();

  models::SortedRows sorted_;
  int nameColumn_ = -1, leastNameWidth_ = 0;
  QString emptyText_, filter_;
  bool marking_ = false, widening_ = false;
};

}  // namespace highwater::views
