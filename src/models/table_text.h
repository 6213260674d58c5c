#pragma once

#include <QString>
#include <vector>

class QAbstractItemModel;

namespace highwater::models {

/// The cells of a row as they are shown, separated by tabs. `columns` are the columns to copy;
/// none: all. Line ends and tabs within a cell become spaces.
[[nodiscard]] QString rowText(const QAbstractItemModel& model, int row,
                              const std::vector<int>& columns = {});

/// A table as CSV (RFC 4180): the names of the columns, and then the rows in the order of the
/// model. Sizes are whole bytes and ops have their full names: see TableModel::kExportRole.
[[nodiscard]] QString csvOf(const QAbstractItemModel& model, const std::vector<int>& columns = {});

}  // namespace highwater::models
