#include "models/value_rows.h"

#include "models/column_look.h"

namespace highwater::models {

void ValueRows::setRows(std::vector<Row> rows) {
  if (rows.size() != rows_.size()) {
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
    return;
  }
  rows_ = std::move(rows);
  if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

int ValueRows::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int ValueRows::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant ValueRows::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == kName ? row.name : row.value;
    case Qt::ToolTipRole:
      return row.tip.isEmpty() ? QVariant() : row.tip;
    case Qt::TextAlignmentRole:
      return columnAlignment(index.column() == kName);
    default:
      return {};
  }
}

QVariant ValueRows::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  return section == kName ? tr("Name") : tr("Value");
}

}  // namespace highwater::models
