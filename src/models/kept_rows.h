#pragma once

#include <QAbstractTableModel>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace highwater::models {

/// Reorders `fresh` like `shown`: first the rows of `shown`, then the new ones. Returns false and
/// leaves `fresh` unchanged if a row of `shown` is missing; then the model must be reset.
/// `keyOf(row)` identifies a row by a unique value that std::hash accepts. So a row keeps its place
/// in the model, and its selection in a view, while its numbers change; a proxy sorts the rows on
/// screen.
template <typename Row, typename KeyOf>
bool keepPlaces(const std::vector<Row>& shown, std::vector<Row>& fresh, KeyOf&& keyOf) {
  if (fresh.size() < shown.size()) return false;
  std::unordered_map<decltype(keyOf(shown.front())), std::size_t> places;
  for (std::size_t i = 0; i < fresh.size(); ++i) places.emplace(keyOf(fresh[i]), i);
  std::vector<std::size_t> order;
  std::vector<bool> kept(fresh.size());
  for (const Row& row : shown) {
    const auto found = places.find(keyOf(row));
    if (found == places.end() || kept[found->second]) return false;
    kept[found->second] = true;
    order.push_back(found->second);
  }
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (!kept[i]) order.push_back(i);
  }
  std::vector<Row> ordered;
  ordered.reserve(fresh.size());
  for (const std::size_t i : order) ordered.push_back(std::move(fresh[i]));
  fresh = std::move(ordered);
  return true;
}

/// A table model whose rows keep their places while their numbers change.
class KeptRowsModel : public QAbstractTableModel {
 public:
  using QAbstractTableModel::QAbstractTableModel;

 protected:
  /// Replaces `shown`, the rows of this model, by `fresh`; see keepPlaces().
  template <typename Row, typename KeyOf>
  void replaceRows(std::vector<Row>& shown, std::vector<Row> fresh, KeyOf&& keyOf) {
    if (shown.empty() || !keepPlaces(shown, fresh, keyOf)) {
      beginResetModel();
      shown = std::move(fresh);
      endResetModel();
      return;
    }
    const auto before = static_cast<int>(shown.size());
    const auto after = static_cast<int>(fresh.size());
    if (after > before) beginInsertRows({}, before, after - 1);
    shown = std::move(fresh);
    if (after > before) endInsertRows();
    emit dataChanged(index(0, 0), index(before - 1, columnCount() - 1));
  }
};

}  // namespace highwater::models
