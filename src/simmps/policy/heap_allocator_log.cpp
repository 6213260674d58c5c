// HeapAllocator's output for PYTORCH_DEBUG_MPS_ALLOCATOR, with PyTorch's texts, which people search
// for. A block's "retain#" is 1, or 2 while jobs may still use it.
#include <sstream>
#include <utility>

#include "simmps/policy/heap_allocator.h"

namespace highwater::simmps {
namespace {

template <typename... Parts>
std::string text(Parts&&... parts) {
  std::ostringstream out;
  (out << ... << std::forward<Parts>(parts));
  return out.str();
}

const char* bufferName(PoolKind kind) {
  return kind == PoolKind::Scalar ? "shared scalar buffer #" : "shared buffer #";
}

const char* poolName(PoolKind kind) {
  switch (kind) {
    case PoolKind::Small:
      return "small shared pool";
    case PoolKind::Large:
      return "large shared pool";
    case PoolKind::Scalar:
      return "small shared scalar pool";
  }
  return "";
}

std::string limitText(double ratio, std::uint64_t recommendedBytes) {
  if (ratio == 0) return "unlimited";
  return formatSize(static_cast<std::uint64_t>(ratio * static_cast<double>(recommendedBytes)));
}

}  // namespace

void HeapAllocator::logStart() const {
  if (options_.log.silent()) return;
  logHighWatermark();
  if (options_.log.shows(MemoryLog::Profiling)) {
    options_.log.line("Low watermark memory allocation limit: " +
                      limitText(limits_.lowWatermarkRatio, limits_.recommendedBytes));
  }
  options_.log.line("Initializing shared heap allocator on unified device memory of size " +
                    formatSize(limits_.recommendedBytes));
}

void HeapAllocator::logHighWatermark() const {
  if (!options_.log.shows(MemoryLog::Profiling)) return;
  options_.log.line("High watermark memory allocation limit: " +
                    limitText(limits_.highWatermarkRatio, limits_.recommendedBytes));
}

void HeapAllocator::logNewHeap(const Pool& home, const MemoryHeap& heap) const {
  if (!options_.log.shows(MemoryLog::Allocations)) return;
  options_.log.line(text("Allocated shared heap #", heap.id(), " of size ",
                         formatSize(heap.bytes()), " (#heaps: ", home.heaps.size(),
                         ", current allocated: ", formatSize(counters_.driverBytes), ")"));
}

void HeapAllocator::logNewBlock(const DeviceBlock& block, std::uint64_t requestedBytes) const {
  if (!options_.log.showsBlock(MemoryLog::Allocations, block.pool_ != PoolKind::Large)) return;
  options_.log.line(text(
      "Allocated ", bufferName(block.pool_), block.id_, " of size ", formatSize(block.bytes_),
      " at ", static_cast<const void*>(block.data_), " from heap #", block.heap_->id(),
      " (requested: ", formatSize(requestedBytes), ", heap: ", formatSize(block.heap_->available()),
      ", total: ", formatSize(counters_.heapBytes), ")"));
}

void HeapAllocator::logReuse(const DeviceBlock& block, std::uint64_t requestedBytes) const {
  if (!options_.log.showsBlock(MemoryLog::Recycles, block.pool_ != PoolKind::Large)) return;
  options_.log.line(text("Reusing ", bufferName(block.pool_), block.id_, " of size ",
                         formatSize(block.bytes_), " at ", static_cast<const void*>(block.data_),
                         " (requested: ", formatSize(requestedBytes), ", use#: ", block.uses_ + 1,
                         ", retain#: ", isIdle(&block) ? 1 : 2, ")"));
}

void HeapAllocator::logRelease(const DeviceBlock& block) const {
  if (!options_.log.showsBlock(MemoryLog::Releases, block.pool_ != PoolKind::Large)) return;
  const std::uint64_t age =
      pools_[static_cast<std::size_t>(block.pool_)].requests - block.cachedSince_;
  options_.log.line(
      text("Released buffer #", block.id_, " of size ", formatSize(block.bytes_), " from heap #",
           block.heap_->id(), " (heap size: ", formatSize(block.heap_->available()),
           ", use#: ", block.uses_, ", retain#: ", isIdle(&block) ? 1 : 2, ", gc#: ", age, ")"));
}

void HeapAllocator::logReleasedHeap(const MemoryHeap& heap) const {
  if (!options_.log.shows(MemoryLog::Releases)) return;
  options_.log.line(text("Released heap #", heap.id(), " of size ", formatSize(heap.bytes()),
                         " (current allocated: ", formatSize(counters_.driverBytes),
                         ", retain#: 1)"));
}

void HeapAllocator::logReleaseAll() const {
  if (options_.log.silent()) return;
  options_.log.line(
      text("Attempting to release cached buffers (MPS allocated: ", formatSize(counters_.heapBytes),
           ", other allocations: ", formatSize(counters_.driverBytes - counters_.heapBytes), ")"));
}

void HeapAllocator::logReleaseCached(const Pool& from) const {
  if (!options_.log.shows(MemoryLog::Releases)) return;
  options_.log.line(text("Releasing ", from.cached.size(), " buffers from ", poolName(from.kind),
                         " (total size: ", formatSize(from.blockBytes), ", #buffers: ", from.blocks,
                         ")"));
}

void HeapAllocator::logCollection(std::uint64_t blocks, std::uint64_t bytes,
                                  const Pool& from) const {
  if (!options_.log.shows(MemoryLog::Releases)) return;
  options_.log.line(text("Garbage collected ", blocks, " buffers from ", poolName(from.kind),
                         " (total reclaimed: ", formatSize(bytes),
                         ", #buffers: ", from.cached.size(), ")"));
}

}  // namespace highwater::simmps
