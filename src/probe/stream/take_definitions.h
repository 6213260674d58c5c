#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace highwater::probe {

/// Moves definitions from the front of `from` to the end of `out` until they take `maxBytes`, and
/// at least one. `bytesOf(definition)` returns a definition's size in a frame. Returns true if some
/// are left.
template <typename Definition, typename BytesOf>
bool takeDefinitions(std::deque<Definition>& from, std::vector<Definition>& out,
                     std::size_t maxBytes, const BytesOf& bytesOf) {
  std::size_t bytes = 0;
  while (!from.empty() && bytes < maxBytes) {
    bytes += bytesOf(from.front());
    out.push_back(std::move(from.front()));
    from.pop_front();
  }
  return !from.empty();
}

}  // namespace highwater::probe
