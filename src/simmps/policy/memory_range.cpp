#include "simmps/policy/memory_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace highwater::simmps {

// Private pages of ordinary size. Shared ones (counted apart as RssShmem) took 1.4 times as long to
// touch first; huge ones (MADV_HUGEPAGE) saved a tenth of that but made a one-byte tensor 2 MiB
// resident.
std::optional<MemoryRange> MemoryRange::reserve(std::uint64_t bytes) {
  void* range = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return std::nullopt;
  return MemoryRange(static_cast<std::byte*>(range), bytes);
}

void MemoryRange::Unmap::operator()(std::byte* base) const {
  ::munmap(base, bytes);
}

std::uint64_t residentBytes(std::byte* base, std::uint64_t bytes) {
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
