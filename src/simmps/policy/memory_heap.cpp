#include "simmps/policy/memory_heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace highwater::simmps {

// Private pages of ordinary size. Shared ones (counted apart as RssShmem) took 1.4 times as long to
// touch first; huge ones (MADV_HUGEPAGE) saved a tenth of that but made a one-byte tensor 2 MiB
// resident.
std::unique_ptr<MemoryHeap> MemoryHeap::reserve(std::uint64_t id, std::uint64_t bytes, bool split) {
  void* range = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  return std::unique_ptr<MemoryHeap>(
      new MemoryHeap(id, static_cast<std::byte*>(range), bytes, split));
}

MemoryHeap::MemoryHeap(std::uint64_t id, std::byte* base, std::uint64_t bytes, bool split)
    : id_(id), base_(base), bytes_(bytes), split_(split) {
  addExtent(0, bytes);
}

MemoryHeap::~MemoryHeap() {
  ::munmap(base_, bytes_);
}

void MemoryHeap::addExtent(std::uint64_t offset, std::uint64_t bytes) {
  free_.emplace(offset, bytes);
  freeBySize_.emplace(bytes, offset);
}

void MemoryHeap::removeExtent(Extents::iterator extent) {
  freeBySize_.erase({extent->second, extent->first});
  free_.erase(extent);
}

std::uint64_t MemoryHeap::available() const {
  return freeBySize_.empty() ? 0 : freeBySize_.rbegin()->first;
}

std::byte* MemoryHeap::take(std::uint64_t bytes) {
  const auto smallest = freeBySize_.lower_bound({bytes, 0});
  if (smallest == freeBySize_.end()) return nullptr;
  const auto [size, offset] = *smallest;
  removeExtent(free_.find(offset));
  if (size > bytes) addExtent(offset + bytes, size - bytes);
  ++blocks_;
  highestOffset_ = std::max(highestOffset_, offset + bytes);
  return base_ + offset;
}

void MemoryHeap::giveBack(std::byte* data, std::uint64_t bytes) {
  auto begin = static_cast<std::uint64_t>(data - base_);
  auto end = begin + bytes;
  const auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      removeExtent(before);
    }
  }
  if (next != free_.end() && next->first == end) {
    end += next->second;
    removeExtent(next);
  }
  addExtent(begin, end - begin);
  --blocks_;
}

std::uint64_t MemoryHeap::Range::residentBytes() const {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t pages = (bytes + page - 1) / page;
  std::array<unsigned char, 4096> inMemory;
  std::uint64_t resident = 0;
  for (std::uint64_t first = 0; first < pages; first += inMemory.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(inMemory.size(), pages - first);
    if (::mincore(base + first * page, count * page, inMemory.data()) != 0) return 0;
    resident += static_cast<std::uint64_t>(
        std::count_if(inMemory.begin(), inMemory.begin() + static_cast<std::ptrdiff_t>(count),
                      [](unsigned char each) { return (each & 1) != 0; }));
  }
  return resident * page;
}

}  // namespace highwater::simmps
