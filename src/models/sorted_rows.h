#pragma once

#include <QSortFilterProxyModel>

namespace highwater::models {

class StepModel;

/// The rows of a table in the order that the user chose, by OpTotalsModel::kSortRole; while the
/// numbers change they stay in order. With a filter, those with its text in an op or a place.
class SortedRows final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit SortedRows(QObject* parent = nullptr);

  /// The order that the rows have by themselves: it costs nothing to show them so.
  void setNaturalOrder(int column, Qt::SortOrder order);
  /// Upper and lower case are the same; an empty one lets all through.
  void setFilter(const QString& text);

  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;
  void setSourceModel(QAbstractItemModel* model) override;

 protected:
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  const StepModel* steps_ = nullptr;  ///< the source, where it is that
  int naturalColumn_ = -1;
  Qt::SortOrder naturalOrder_ = Qt::AscendingOrder;
  QString filter_;
};

}  // namespace highwater::models
