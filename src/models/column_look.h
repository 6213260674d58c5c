#pragma once

#include <QVariant>

namespace highwater::models {

/// How the cells of a column and its header are aligned: texts to the left, numbers to the right.
[[nodiscard]] inline QVariant columnAlignment(bool isText) {
  return QVariant::fromValue(int(Qt::AlignVCenter | (isText ? Qt::AlignLeft : Qt::AlignRight)));
}

/// What the header of a column returns for Qt::TextAlignmentRole and Qt::InitialSortOrderRole: the
/// first click sorts texts from the first and numbers from the largest. Invalid for other roles.
[[nodiscard]] inline QVariant columnHeader(bool isText, int role) {
  if (role == Qt::TextAlignmentRole) return columnAlignment(isText);
  if (role != Qt::InitialSortOrderRole) return {};
  return int(isText ? Qt::AscendingOrder : Qt::DescendingOrder);
}

}  // namespace highwater::models
