#pragma once

#include <cstddef>
#include <vector>

namespace highwater::analysis {

/// Makes room in a long column before an element is added: an eighth more, where push_back() would
/// double it and keep up to half of the memory of a long run spare.
template <typename T>
void reserveOneMore(std::vector<T>& column) {
  constexpr std::size_t kLeast = 16;
  if (column.size() == column.capacity()) {
    column.reserve(column.size() + column.size() / 8 + kLeast);
  }
}

}  // namespace highwater::analysis
