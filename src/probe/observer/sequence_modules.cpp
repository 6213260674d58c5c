#include "probe/observer/sequence_modules.h"

namespace highwater::probe {

SequenceModules::~SequenceModules() {
  for (auto& ring : rings_) delete ring.load();
}

SequenceModules::Ring* SequenceModules::ring(std::uint64_t thread) {
  if (thread == 0) return nullptr;
  for (std::size_t i = 0; i < kMaxThreads; ++i) {
    const std::size_t slot = (thread + i) % kMaxThreads;
    std::uint64_t owner = 0;
    if (threads_[slot].compare_exchange_strong(owner, thread)) {
      rings_[slot].store(std::make_unique<Ring>().release(), std::memory_order_release);
    } else if (owner != thread) {
      continue;
    }
    return rings_[slot].load(std::memory_order_acquire);
  }
  return nullptr;
}

ModuleId SequenceModules::find(std::uint64_t thread, std::int64_t sequence) const noexcept {
  if (thread == 0 || sequence < 0) return kNoId;
  for (std::size_t i = 0; i < kMaxThreads; ++i) {
    const std::size_t slot = (thread + i) % kMaxThreads;
    const std::uint64_t owner = threads_[slot].load(std::memory_order_acquire);
    if (owner == 0) return kNoId;
    if (owner != thread) continue;
    const Ring* ring = rings_[slot].load(std::memory_order_acquire);
    return ring ? ring->find(sequence) : kNoId;
  }
  return kNoId;
}

}  // namespace highwater::probe
