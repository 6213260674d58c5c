#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "simmps/policy/heap_allocator.h"
#include "simmps/policy/process_fork.h"

namespace highwater::simmps {

/// Simulates MPSGraph's cache: one compiled graph per combination of op, shapes and types. On a Mac
/// its memory is part of driver but not of PyTorch's heaps, and the allocator does not release it,
/// so inputs of ever new shapes grow driver: pytorch issues 132596 and 181213; 13.7 GB after 315
/// shapes in pull request 181485, partly cached blocks of ever new sizes (pull request 188045). The
/// size of a graph is not documented, so it is a setting (HIGHWATER_SIM_GRAPH_CACHE). Thread-safe.
class GraphCache {
 public:
  /// Creates an empty cache that takes `bytesPerGraph` from `memory` for each graph; 0 disables the
  /// cache. `memory` must outlive it.
  GraphCache(HeapAllocator& memory, std::uint64_t bytesPerGraph);

  bool enabled() const { return bytesPerGraph_ != 0; }
  /// Looks up the combination that hashes to `key`; a new one allocates a graph. Returns
  /// OutOfMemory, and does not cache the graph, if the memory is refused.
  std::optional<OutOfMemory> use(std::uint64_t key);
  /// Releases all graphs, as torch.mps.empty_cache() does in PyTorch 2.13 and later (pull request
  /// 181485). A graph that another thread is adding may stay.
  void clear();
  /// Number of cached graphs.
  std::uint64_t size() const;

 private:
  HeapAllocator& memory_;
  const std::uint64_t bytesPerGraph_;
  mutable std::mutex mutex_;
  std::unordered_set<std::uint64_t> graphs_;
  const ForkSteps fork_{ForkOrder::Graphs, mutex_};
};

}  // namespace highwater::simmps
