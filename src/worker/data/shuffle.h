#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace highwater::worker {

/// Shuffles `values` by Fisher-Yates. Unlike std::shuffle it gives the same order with every
/// standard library.
template <typename T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(random() % i)]);
  }
}

}  // namespace highwater::worker
