#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tuning/request_trace.h"

namespace highwater::tuning {

/// How the blocks that may have been freed are ranked: by whether they add up at each setting and
/// then by whether ops have just used them, by the sum alone, or by the use first.
enum class Guess : std::uint8_t { kByUse, kBySum, kByUseFirst };

/// Finds the blocks that a trace freed, of which only the sum of bytes is known: a sum of 3 MiB may
/// be one block or two. Of several possibilities the one with the fewest and newest blocks is tried
/// first. It is wrong if the allocator later made a new block although a larger one, freed by it,
/// would have been reused. Then the next possibility of that free is tried.
class FreeMatching {
 public:
  /// What is freed before a request: the requests whose blocks they are, and bytes for which no
  /// blocks were found.
  struct Freed {
    std::vector<std::size_t> requests;
    std::uint64_t unmatched = 0;
  };

  /// For a request and the blocks that were live before it, the ways in which the freed bytes add
  /// up: places among these blocks.
  using Compositions = std::unordered_map<std::uint64_t, std::vector<std::vector<std::size_t>>>;

  /// Matches `steps` steps of the trace number `which`; the others have the same requests.
  /// `keepsGradients`: what a backward pass allocates in the same size at each setting is freed
  /// before its end only if nothing else adds up. Blocks below `smallestChecked` bytes are not
  /// checked against reuse. `compositions` is empty, or of another matching of the same traces,
  /// `which`, `steps` and `keepsGradients`: only what is preferred differs then.
  FreeMatching(const std::vector<StepTrace>& traces, std::size_t which, std::size_t steps,
               Guess guess, bool keepsGradients, std::uint64_t smallestChecked,
               Compositions& compositions);

  /// For each request, counted over all steps, what is freed before it.
  [[nodiscard]] const std::vector<Freed>& freed() const { return freed_; }

 private:
  class Search;
  std::vector<Freed> freed_;
};

}  // namespace highwater::tuning
