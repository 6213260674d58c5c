#include "models/table_text.h"

#include <QAbstractItemModel>
#include <QStringList>
#include <numeric>
#include <string>

#include "core/csv_field.h"
#include "models/column_model.h"

namespace highwater::models {
namespace {

std::vector<int> orAll(const QAbstractItemModel& model, std::vector<int> columns) {
  if (columns.empty()) {
    columns.resize(static_cast<std::size_t>(model.columnCount()));
    std::iota(columns.begin(), columns.end(), 0);
  }
  return columns;
}

QString oneLine(QString text) {
  for (const QChar each : {u'\t', u'\n', u'\r'}) text.replace(each, u' ');
  return text;
}

}  // namespace

QString rowText(const QAbstractItemModel& model, int row, const std::vector<int>& columns) {
  QStringList cells;
  for (const int column : orAll(model, columns)) {
    cells << oneLine(model.index(row, column).data().toString());
  }
  return cells.join(u'\t');
}

QString csvOf(const QAbstractItemModel& model, const std::vector<int>& columns) {
  const std::vector<int> all = orAll(model, columns);
  std::string csv;
  const auto addLine = [&](auto&& cellOf) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) csv += ',';
      appendCsvField(csv, cellOf(all[i]).toStdString());
    }
    csv += "\r\n";
  };
  addLine([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
  for (int row = 0; row < model.rowCount(); ++row) {
    addLine([&](int column) {
      const QModelIndex cell = model.index(row, column);
      const QVariant exported = cell.data(TableModel::kExportRole);
      return exported.isValid() ? exported.toString() : cell.data().toString();
    });
  }
  return QString::fromStdString(csv);
}

}  // namespace highwater::models
