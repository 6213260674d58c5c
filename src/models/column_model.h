#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/plain_tip.h"

namespace highwater::models {

/// What a cell without a value shows.
inline const QString kNoValue = QStringLiteral("–");

/// A column of a table whose rows are of type `Row`.
template <typename Row>
struct TableColumn {
  QString head, tip = {};                             ///< text and tooltip of the header
  std::function<QString(const Row&)> text = {};       ///< what a cell shows
  std::function<double(const Row&)> number = {};      ///< what it sorts by, not NaN; else its text
  std::function<QString(const Row&)> cellTip = {};    ///< its tooltip, shown literally
  std::function<QVariant(const Row&)> exported = {};  ///< see TableModel::kExportRole
  /// Texts are aligned left, and the first click sorts them from the first; numbers to the right,
  /// and from the largest. Without a value: whether there is no `number`.
  std::optional<bool> isText = {};

  [[nodiscard]] bool looksLikeText() const { return isText.value_or(!number); }
};

/// Base of the tables: the roles of their data.
class TableModel : public QAbstractTableModel {
 public:
  /// The extra roles of the data of all tables.
  enum Role {
    kOpNameRole = Qt::UserRole + 1,  ///< the op's full name
    kShareRole,                      ///< double, 0 to 1
    kDeliberateRole,                 ///< bool: a planned sync point
    kSortRole,                       ///< in all tables: the cell as a text, or as a double
    kAcceptedRole,                   ///< bool: a fallback whose CPU path was accepted
    kSiteRole,                       ///< uint: a CallSiteId of the row; kNoId where unknown
    kKindRole,                       ///< int: the events::SyncKind of a sync point, else None
    kExportRole,  ///< the cell for CSV, where that differs from what is shown: full names, whole
                  ///< bytes
  };

  using QAbstractTableModel::QAbstractTableModel;
};

/// The alignment of a column's cells and header.
[[nodiscard]] inline QVariant columnAlignment(bool isText) {
  return int(Qt::AlignVCenter | (isText ? Qt::AlignLeft : Qt::AlignRight));
}

/// Reorders `fresh` like `shown`: first the rows of `shown`, then the new ones. Returns false and
/// leaves `fresh` unchanged if a row of `shown` is missing; then the model must be reset.
/// `keyOf(row)` identifies a row by a unique value that std::hash accepts. So a row keeps its place
/// in the model, and its selection in a view, while its numbers change; a proxy sorts the rows on
/// screen.
template <typename Row, typename KeyOf>
bool keepPlaces(const std::vector<Row>& shown, std::vector<Row>& fresh, KeyOf&& keyOf) {
  if (fresh.size() < shown.size()) return false;
  std::unordered_map<std::decay_t<decltype(keyOf(shown.front()))>, std::size_t> places;
  for (std::size_t i = 0; i < fresh.size(); ++i) places.emplace(keyOf(fresh[i]), i);
  std::vector<std::size_t> order;
  std::vector<bool> kept(fresh.size());
  for (const Row& row : shown) {
    const auto found = places.find(keyOf(row));
    if (found == places.end() || kept[found->second]) return false;
    kept[found->second] = true;
    order.push_back(found->second);
  }
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (!kept[i]) order.push_back(i);
  }
  std::vector<Row> ordered;
  ordered.reserve(fresh.size());
  for (const std::size_t i : order) ordered.push_back(std::move(fresh[i]));
  fresh = std::move(ordered);
  return true;
}

/// A table model that is a list of columns. A derived class passes its columns to setColumns(), in
/// the order of its enum of columns, and its rows to replaceRows().
template <typename Row>
class ColumnModel : public TableModel {
 public:
  using TableModel::TableModel;

  /// The number that a cell sorts by; 0 if there is no such row. Precondition: the column has
  /// numbers.
  [[nodiscard]] double sortNumber(int row, int column) const {
    const Row* of = rowAt(row);
    return of ? columns_[static_cast<std::size_t>(column)].number(*of) : 0;
  }

  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }

  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }

  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override {
    const Row* row = index.isValid() ? rowAt(index.row()) : nullptr;
    if (!row) return {};
    const auto& column = columns_[static_cast<std::size_t>(index.column())];
    if (role == Qt::TextAlignmentRole) return columnAlignment(column.looksLikeText());
    if (role == kSortRole && column.number) return column.number(*row);
    if (role == Qt::DisplayRole || role == kSortRole) {
      return column.text ? QVariant(column.text(*row)) : QVariant();
    }
    if (role == Qt::ToolTipRole && column.cellTip) return plainTip(column.cellTip(*row));
    if (role == kExportRole && column.exported) return column.exported(*row);
    return rowData(*row, role);
  }

  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const auto& column = columns_[static_cast<std::size_t>(section)];
    switch (role) {
      case Qt::DisplayRole:
        return column.head;
      case Qt::ToolTipRole:
        return column.tip.isEmpty() ? QVariant() : QVariant(column.tip);
      case Qt::TextAlignmentRole:
        return columnAlignment(column.looksLikeText());
      case Qt::InitialSortOrderRole:
        return int(column.looksLikeText() ? Qt::AscendingOrder : Qt::DescendingOrder);
      default:
        return {};
    }
  }

 protected:
  using Columns = std::vector<TableColumn<Row>>;

  void setColumns(Columns columns) { columns_ = std::move(columns); }
  /// A row, or nullptr if there is none.
  [[nodiscard]] virtual const Row* rowAt(int row) const {
    const auto at = static_cast<std::size_t>(row);
    return row >= 0 && at < rows_.size() ? &rows_[at] : nullptr;
  }
  /// The data of a role that is the same in all columns.
  [[nodiscard]] virtual QVariant rowData(const Row& /*row*/, int /*role*/) const { return {}; }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// The first row that matches; -1 if none does.
  template <typename Matches>
  [[nodiscard]] int firstRow(Matches&& matches) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(), matches);
    return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
  }
  /// Replaces the rows by others without keeping any place.
  void resetRows(std::vector<Row> rows) {
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
  }
  /// Replaces one row.
  void setRow(int row, Row fresh) {
    rows_[static_cast<std::size_t>(row)] = std::move(fresh);
    emit dataChanged(index(row, 0), index(row, columnCount() - 1));
  }
  /// Replaces the rows by at least as many. The first ones stay the same rows, with new values.
  void updateRows(std::vector<Row> fresh) {
    const int before = rowCount(), after = static_cast<int>(fresh.size());
    if (after > before) beginInsertRows({}, before, after - 1);
    rows_ = std::move(fresh);
    if (after > before) endInsertRows();
    if (before > 0) emit dataChanged(index(0, 0), index(before - 1, columnCount() - 1));
  }
  /// Replaces the rows by `fresh`; see keepPlaces().
  template <typename KeyOf>
  void replaceRows(std::vector<Row> fresh, KeyOf&& keyOf) {
    const bool kept = !rows_.empty() && keepPlaces(rows_, fresh, keyOf);
    kept ? updateRows(std::move(fresh)) : resetRows(std::move(fresh));
  }

 private:
  Columns columns_;
  std::vector<Row> rows_;
};

}  // namespace highwater::models
