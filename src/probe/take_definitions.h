#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace highwater::probe {

/// Moves definitions from the front of `from` to the end of `out`: as many as fit into `maxBytes`
/// of a frame by `bytesOf`, but at least one. True where some are left for the next call.
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
