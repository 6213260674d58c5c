#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace highwater::bench {

/// What a search by trial has found.
struct FoundBatch {
  std::uint32_t largest = 0;  ///< that did not run out of memory; 0: none
  int trials = 0, outOfMemory = 0;
};

/// The peer: doubles the batch from 2 until training runs out of memory, then searches between the
/// last two (mode "binsearch" of BatchSizeFinder in Lightning 2, tuner/batch_size_scaling.py; 25
/// trials at most). `fits` trains some steps at a batch and returns whether memory sufficed. No
/// batch is larger than `most`, as Lightning's are no larger than the data set.
inline FoundBatch findByDoubling(std::uint32_t most,
                                 const std::function<bool(std::uint32_t)>& fits) {
  constexpr int kMostTrials = 25;
  FoundBatch found;
  std::uint32_t low = 0, high = 0, batch = std::min(2U, most);
  while (found.trials < kMostTrials) {
    ++found.trials;
    if (fits(batch)) {
      low = batch;
      if (batch == most || (high > 0 && high - low <= 1)) break;
      batch = high > 0 ? low + (high - low) / 2 : std::min(most, batch * 2);
    } else {
      ++found.outOfMemory;
      high = batch;
      if (high - low <= 1) break;
      batch = low + (high - low) / 2;
    }
  }
  found.largest = low;
  return found;
}

}  // namespace highwater::bench
