#pragma once

#include <QTableView>
#include <functional>

#include "models/sorted_rows.h"

namespace highwater::views {

/// A sortable table in the look of the window, with a text in place of rows while it is empty. At
/// most one row is selected.
///
/// model() returns the models::SortedRows in between; rows in signals and parameters are rows of
/// the model given to setModel().
class EventTable : public QTableView {
  Q_OBJECT

 public:
  explicit EventTable(QWidget* parent = nullptr);

  void setModel(QAbstractItemModel* model) override;
  /// Sets the text that is shown in place of rows while the table is empty.
  void setEmptyText(const QString& text);
  /// Sorts the table by the order that the source rows already have, which costs nothing: see
  /// models::SortedRows::setNaturalOrder().
  void setNaturalOrder(int column, Qt::SortOrder order);
  /// Shows only rows that contain the text in a name or place. An empty text shows all.
  void setFilter(const QString& text);
  /// Sets the widths of the columns in pixels. With room to spare, the op column of setOpLook()
  /// grows up to twice its width, until the user resizes it; the last text takes the rest, or the
  /// last column if that is one.
  void setColumnWidths(const QList<int>& widths);
  /// What the rows stand for. It decides the glyph before the op and the colour of the bars.
  /// kCompared: waits and fallbacks of two ranges, of a models::CompareModel; their share is a
  /// change, drawn against its noise. kHostTime: lines of code, of a models::HostTimeModel.
  enum class Kind { kFallbacks, kSyncPoints, kOps, kCompared, kHostTime };
  /// Draws the share column as a bar with a text, of which a narrow table has the text alone, and
  /// the glyph of `kind` before the name in the op column.
  void setOpLook(Kind kind, int opColumn, int shareColumn);
  /// Makes a column's cells links where isLink(cell) holds: their text up to the first comma, which
  /// names a line of code.
  void setLinks(int column, std::function<bool(const QModelIndex& cell)> isLink);
  /// Selects a row without emitting rowPicked(). -1 or a filtered row clears the selection.
  void markRow(int row);
  /// Gives all columns the same width, for a table of numbers alone. Where that would cut one, each
  /// gets what it needs and a share of the rest; where there is none, the table scrolls.
  void setEvenColumns();

 signals:
  /// The user picked a row, by mouse or keyboard. `row` is a row of the model given to setModel().
  void rowPicked(int row);
  /// The user clicked a link; the row is picked too.
  void linkClicked(const QModelIndex& cell);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyboardSearch(const QString&) override {}  ///< letters are the timeline's

 private:
  /// Widens the columns whose numbers have become too long: a cut number reads as another one.
  void fitNumbers();
  void widenNames();
  void fitEvenColumns();
  /// Whether the widths that the cells in view need can be asked for; showEvent() makes up for it.
  [[nodiscard]] bool canMeasure() const;
  /// Gives the share column what it needs with bars or, in a narrow table, without them.
  void fitBars();
  /// The least width of a column by its header, in pixels.
  [[nodiscard]] int headWidth(int column) const;
  /// Whether a column is aligned to the right. Precondition: the table has a row.
  [[nodiscard]] bool isNumber(int column) const;
  /// The cell whose link is at a point of the viewport; invalid where there is none.
  [[nodiscard]] QModelIndex linkAt(const QPoint& position) const;

  models::SortedRows sorted_;
  QList<int> widths_;  ///< set by setColumnWidths()
  bool evenColumns_ = false;
  int nameColumn_ = -1, leastNameWidth_ = 0, shareColumn_ = -1, linkColumn_ = -1;
  std::function<bool(const QModelIndex&)> isLink_;
  QString emptyText_, filter_;
  bool marking_ = false, widening_ = false, hasBars_ = true;
};

}  // namespace highwater::views
