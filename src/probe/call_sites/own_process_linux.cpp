#include <errno.h>
#include <link.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

#include "probe/call_sites/own_process.h"

namespace highwater::probe {
namespace {

struct Search {
  std::uintptr_t address;
  LoadedLibrary found;
};

int lookInto(dl_phdr_info* info, std::size_t /*size*/, void* into) {
  auto& search = *static_cast<Search*>(into);
  std::uintptr_t base = UINTPTR_MAX;
  bool holds = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    base = std::min(base, begin);
    holds |= search.address >= begin && search.address - begin < segment.p_memsz;
  }
  if (!holds) return 0;
  // The main program has an empty name here.
  const bool isProgram = *info->dlpi_name == '\0';
  search.found = {reinterpret_cast<const void*>(base),
                  isProgram ? ::program_invocation_name : info->dlpi_name};
  return 1;
}

}  // namespace

LoadedLibrary libraryAt(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), {}};
  ::dl_iterate_phdr(&lookInto, &search);
  return search.found;
}

std::uint64_t unloadedLibraries() {
  std::uint64_t count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<std::uint64_t*>(into) = info->dlpi_subs;
        return 1;  // every entry has the same count
      },
      &count);
  return count;
}

void lowerThreadPriority() {
  // About a third of the share of a thread at nice 0. Linux keeps nice values per thread.
  constexpr int kNice = 5;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace highwater::probe
