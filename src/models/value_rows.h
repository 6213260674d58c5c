#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

namespace highwater::models {

/// A table model of named values: one row per value, with columns for name and value.
class ValueRows : public QAbstractTableModel {
  Q_OBJECT

 public:
  /// The columns of the table; kColumns is their number.
  enum Column { kName, kValue, kColumns };
  struct Row {
    QString name, value, tip;
  };

  explicit ValueRows(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  /// Shows these rows in place of those before.
  void setRows(std::vector<Row> rows);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  std::vector<Row> rows_;
};

}  // namespace highwater::models
