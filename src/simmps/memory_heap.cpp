#include "simmps/memory_heap.h"

#include <sys/mman.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace highwater::simmps {

std::unique_ptr<MemoryHeap> MemoryHeap::reserve(std::uint64_t bytes, bool shared) {
  void* range = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  return std::unique_ptr<MemoryHeap>(new MemoryHeap(static_cast<std::byte*>(range), bytes, shared));
}

MemoryHeap::MemoryHeap(std::byte* base, std::uint64_t bytes, bool shared)
    : base_(base), bytes_(bytes), shared_(shared) {
  free_.emplace(0, bytes);
}

MemoryHeap::~MemoryHeap() {
  ::munmap(base_, bytes_);
}

MemoryHeap::Extents::const_iterator MemoryHeap::smallestFor(std::uint64_t bytes) const {
  auto best = free_.end();
  if (!shared_ && used_ > 0) return best;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
  }
  return best;
}

std::optional<std::uint64_t> MemoryHeap::bestFit(std::uint64_t bytes) const {
  const auto extent = smallestFor(bytes);
  if (extent == free_.end()) return std::nullopt;
  return extent->second;
}

std::byte* MemoryHeap::take(std::uint64_t bytes) {
  const auto extent = smallestFor(bytes);
  if (extent == free_.end()) return nullptr;
  const auto [offset, size] = *extent;
  free_.erase(extent);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  used_ += bytes;
  return base_ + offset;
}

void MemoryHeap::giveBack(std::byte* data, std::uint64_t bytes) {
  auto here = free_.emplace(static_cast<std::uint64_t>(data - base_), bytes).first;
  used_ -= bytes;
  const auto next = std::next(here);
  if (next != free_.end() && here->first + here->second == next->first) {
    here->second += next->second;
    free_.erase(next);
  }
  if (here == free_.begin()) return;
  const auto before = std::prev(here);
  if (before->first + before->second == here->first) {
    before->second += here->second;
    free_.erase(here);
  }
}

}  // namespace highwater::simmps
