#include "models/value_rows.h"

namespace highwater::models {

ValueRows::ValueRows(QObject* parent) : ColumnModel(parent) {
  setColumns(
      Columns{{.head = tr("Name"), .text = [](auto& row) { return row.name; }},
              {.head = tr("Value"), .text = [](auto& row) { return row.value; }, .isText = false}});
}

QVariant ValueRows::rowData(const Row& row, int role) const {
  return role == Qt::ToolTipRole && !row.tip.isEmpty() ? QVariant(row.tip) : QVariant();
}

}  // namespace highwater::models
