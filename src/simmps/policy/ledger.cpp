#include "simmps/policy/ledger.h"

#include <array>
#include <chrono>

namespace highwater::simmps {
namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 11> kCauses = {
    "synchronize",    "event",       "scalar_read", "copy_to_host",
    "copy_to_device", "result_size", "no_shape",    "release",
    "queue_full",     "generator",   "exit"};
constexpr std::array<std::string_view, 7> kMemoryKinds = {
    "allocate",    "free",           "reserve_heap", "release_heap",
    "graph_cache", "release_graphs", "out_of_memory"};
static_assert(static_cast<std::size_t>(DrainCause::Exit) + 1 == kCauses.size());
static_assert(static_cast<std::size_t>(MemoryEntry::Kind::OutOfMemory) + 1 == kMemoryKinds.size());

}  // namespace

std::string_view nameOf(DrainCause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
}

std::string_view nameOf(MemoryEntry::Kind kind) {
  return kMemoryKinds[static_cast<std::size_t>(kind)];
}

std::uint64_t deviceClockNs() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace highwater::simmps
