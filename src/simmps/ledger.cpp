#include "simmps/ledger.h"

#include <chrono>

namespace highwater::simmps {

std::string_view nameOf(DrainCause cause) {
  switch (cause) {
    case DrainCause::Synchronize:
      return "synchronize";
    case DrainCause::Event:
      return "event";
    case DrainCause::ScalarRead:
      return "scalar_read";
    case DrainCause::CopyToHost:
      return "copy_to_host";
    case DrainCause::CopyToDevice:
      return "copy_to_device";
    case DrainCause::ResultSize:
      return "result_size";
    case DrainCause::NoShape:
      return "no_shape";
    case DrainCause::Release:
      return "release";
    case DrainCause::QueueFull:
      return "queue_full";
    case DrainCause::Generator:
      return "generator";
    case DrainCause::Exit:
      return "exit";
  }
  return "unknown";
}

std::string_view nameOf(MemoryEntry::Kind kind) {
  switch (kind) {
    case MemoryEntry::Kind::Allocate:
      return "allocate";
    case MemoryEntry::Kind::Free:
      return "free";
    case MemoryEntry::Kind::ReserveHeap:
      return "reserve_heap";
    case MemoryEntry::Kind::ReleaseHeap:
      return "release_heap";
    case MemoryEntry::Kind::GraphCache:
      return "graph_cache";
    case MemoryEntry::Kind::ReleaseGraphs:
      return "release_graphs";
    case MemoryEntry::Kind::OutOfMemory:
      return "out_of_memory";
  }
  return "unknown";
}

std::uint64_t deviceClockNs() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace highwater::simmps
