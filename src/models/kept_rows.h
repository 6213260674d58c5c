#pragma once

#include <algorithm>
#include <vector>

namespace highwater::models {

/// Orders `fresh` as `shown` is: the rows that `shown` has first, then the new ones. False where a
/// row of `shown` is gone: then the model has to start over. `same(a, b)` tells whether two rows
/// stand for the same thing. With it a row keeps its place in a model, and so its selection in a
/// view, whatever its numbers do; the order on screen is a proxy's. Of very many rows, which nobody
/// reads one by one, it looks only whether they are in order.
inline constexpr std::size_t kMostKeptRows = 2000;

template <typename Row, typename Same>
bool keepPlaces(const std::vector<Row>& shown, std::vector<Row>& fresh, Same&& same) {
  if (fresh.size() < shown.size()) return false;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown.size() > kMostKeptRows && !same(fresh[i], shown[i])) return false;
    const auto from = fresh.begin() + static_cast<std::ptrdiff_t>(i);
    const auto found =
        std::find_if(from, fresh.end(), [&](const Row& row) { return same(row, shown[i]); });
    if (found == fresh.end()) return false;
    std::rotate(from, found, found + 1);
  }
  return true;
}

}  // namespace highwater::models
