#include "simmps/policy/graph_cache.h"

namespace highwater::simmps {

GraphCache::GraphCache(HeapAllocator& memory, std::uint64_t bytesPerGraph)
    : memory_(memory), bytesPerGraph_(bytesPerGraph) {}

std::optional<OutOfMemory> GraphCache::use(std::uint64_t key) {
  if (!enabled()) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    if (!graphs_.insert(key).second) return std::nullopt;
  }
  // Without the lock: making room may wait for the device.
  auto refused = memory_.holdGraph(bytesPerGraph_);
  if (refused) {
    const std::lock_guard lock(mutex_);
    graphs_.erase(key);
  }
  return refused;
}

void GraphCache::clear() {
  const std::lock_guard lock(mutex_);
  graphs_.clear();
  memory_.releaseGraphs();
}

std::uint64_t GraphCache::size() const {
  const std::lock_guard lock(mutex_);
  return graphs_.size();
}

}  // namespace highwater::simmps
