#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "simmps/heap_allocator.h"
#include "simmps/process_fork.h"

namespace highwater::simmps {

/// What MPSGraph would keep: a compiled graph for each combination of op, shapes and types. On a
/// Mac that memory is in driver, not in PyTorch's heaps, and the allocator does not give it back,
/// so that inputs of ever new shapes grow driver: pytorch issues 132596 and 181213; 13.7 GB after
/// 315 shapes in pull request 181485, some of which are cached blocks of ever new sizes (pull
/// request 188045). What one graph costs is documented nowhere: the size is a knob. Thread-safe.
class GraphCache {
 public:
  /// 0 bytes: nothing is kept or counted.
  GraphCache(HeapAllocator& memory, std::uint64_t bytesPerGraph);

  bool enabled() const { return bytesPerGraph_ != 0; }
  /// Notes a use of the combination that hashes to `key`; a new one costs memory of the device,
  /// and where that is refused it stays unknown.
  std::optional<OutOfMemory> use(std::uint64_t key);
  /// Forgets all and gives their memory back, as torch.mps.empty_cache() does from PyTorch 2.13 on
  /// (pull request 181485). A combination that another thread is about to add may stay.
  void clear();
  /// Combinations seen.
  std::uint64_t size() const;

 private:
  HeapAllocator& memory_;
  const std::uint64_t bytesPerGraph_;
  mutable std::mutex mutex_;
  std::unordered_set<std::uint64_t> graphs_;
  const ForkSteps fork_{ForkOrder::Graphs, mutex_};
};

}  // namespace highwater::simmps
