#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <pthread.h>
#include <sys/qos.h>

#include <atomic>

#include "probe/call_sites/own_process.h"

namespace highwater::probe {
namespace {

std::atomic<std::uint64_t> unloaded{0};

void countUnload(const mach_header* /*header*/, std::intptr_t /*slide*/) {
  unloaded.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

LoadedLibrary libraryAt(const void* address) {
  // dladdr() also searches for a symbol; the calls that would not are private.
  Dl_info info{};
  if (!::dladdr(address, &info) || !info.dli_fbase || !info.dli_fname) return {};
  return {info.dli_fbase, info.dli_fname};
}

std::uint64_t unloadedLibraries() {
  static const bool counts = (_dyld_register_func_for_remove_image(&countUnload), true);
  return counts ? unloaded.load(std::memory_order_relaxed) : 0;
}

void lowerThreadPriority() {
  (void)::pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
}

}  // namespace highwater::probe
