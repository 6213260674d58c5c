#include <link.h>
#include <sys/resource.h>

#include "probe/own_process.h"

namespace highwater::probe {

std::uint64_t unloadedLibraries() {
  std::uint64_t count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<std::uint64_t*>(into) = info->dlpi_subs;
        return 1;  // each library tells the same
      },
      &count);
  return count;
}

void lowerThreadPriority() {
  // A third of what another thread gets. Linux keeps this value for each thread.
  constexpr int kNice = 5;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
}

}  // namespace highwater::probe
