#pragma once

#include <QSortFilterProxyModel>

namespace highwater::models {

class StepModel;

/// A proxy model that sorts a table by TableModel::kSortRole, also while its values change, and
/// filters it by the names of ops and places.
class SortedRows final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit SortedRows(QObject* parent = nullptr);

  /// Declares by which column, and in which order, the rows of the source are already sorted.
  /// Showing them in that order then needs no sorting.
  void setNaturalOrder(int column, Qt::SortOrder order);
  /// Shows only rows that contain `text`, ignoring case. An empty text shows all.
  void setFilter(const QString& text);

  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;
  void setSourceModel(QAbstractItemModel* model) override;

 protected:
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  const StepModel* steps_ = nullptr;  ///< the source model if it is one, else nullptr
  int naturalColumn_ = -1;
  Qt::SortOrder naturalOrder_ = Qt::AscendingOrder;
  QString filter_;
};

}  // namespace highwater::models
