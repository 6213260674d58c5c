#pragma once

#include <vector>

#include "models/column_model.h"

namespace highwater::models {

/// A row of ValueRows.
struct NamedValue {
  QString name, value, tip;
};

/// A table model of named values: one row per value, with columns for name and value.
class ValueRows : public ColumnModel<NamedValue> {
  Q_OBJECT

 public:
  /// The columns of the table.
  enum Column { kName, kValue };
  using Row = NamedValue;

  explicit ValueRows(QObject* parent = nullptr);
  /// Shows these rows in place of those before.
  void setRows(std::vector<Row> fresh) {
    fresh.size() == rows().size() ? updateRows(std::move(fresh)) : resetRows(std::move(fresh));
  }

 private:
  [[nodiscard]] QVariant rowData(const Row& row, int role) const override;
};

}  // namespace highwater::models
