#include "models/sorted_rows.h"

#include "models/step_model.h"

namespace highwater::models {

SortedRows::SortedRows(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(TableModel::kSortRole);
  setSortCaseSensitivity(Qt::CaseInsensitive);
}

void SortedRows::setNaturalOrder(int column, Qt::SortOrder order) {
  naturalColumn_ = column;
  naturalOrder_ = order;
}

void SortedRows::setFilter(const QString& text) {
  filter_ = text;
  invalidateFilter();
}

void SortedRows::sort(int column, Qt::SortOrder order) {
  const bool natural = column == naturalColumn_ && order == naturalOrder_;
  QSortFilterProxyModel::sort(natural ? -1 : column, natural ? Qt::AscendingOrder : order);
}

void SortedRows::setSourceModel(QAbstractItemModel* model) {
  steps_ = qobject_cast<StepModel*>(model);
  QSortFilterProxyModel::setSourceModel(model);
}

bool SortedRows::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  // A run may have a million steps, and QVariants would take most of the time of a sort.
  if (steps_) {
    return steps_->sortNumber(left.row(), left.column()) <
           steps_->sortNumber(right.row(), right.column());
  }
  return QSortFilterProxyModel::lessThan(left, right);
}

bool SortedRows::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (filter_.isEmpty()) {
    return true;
  }
  const QAbstractItemModel& source = *sourceModel();
  const auto holds = [this](const QVariant& value) {
    return value.userType() == QMetaType::QString &&
           value.toString().contains(filter_, Qt::CaseInsensitive);
  };
  for (int column = 0; column < source.columnCount(parent); ++column) {
    const QModelIndex cell = source.index(row, column, parent);
    // Numbers have numeric sort keys, so a text is a name or a place.
    if (holds(cell.data(TableModel::kSortRole)) || holds(cell.data(TableModel::kOpNameRole))) {
      return true;
    }
  }
  return false;
}

}  // namespace highwater::models
