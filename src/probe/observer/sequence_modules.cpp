#include "probe/observer/sequence_modules.h"

#include <memory>

namespace highwater::probe {

void SequenceModules::Borders::note(std::int64_t next, ModuleId module) noexcept {
  std::uint64_t at = count_.load(std::memory_order_relaxed);
  if (at > 0) {
    const std::uint64_t last = entry(at - 1);
    if ((last & kModuleMask) == module) return;
    // No node was created since that border, so it owns no number.
    if (sequenceOf(last) == next) --at;
  }
  entries_[at % kSize].store(pack(next, module), std::memory_order_release);
  count_.store(at + 1, std::memory_order_release);
}

ModuleId SequenceModules::Borders::find(std::int64_t sequence) const noexcept {
  const std::uint64_t count = count_.load(std::memory_order_acquire);
  const std::uint64_t oldest = count > kSize ? count - kSize : 0;
  // The last border at or before the number. Borders that are overwritten meanwhile have larger
  // numbers, so the search goes to the left of them and ends at the oldest.
  std::uint64_t low = oldest, high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (sequenceOf(entry(middle)) <= sequence) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == oldest) return kNoId;
  const std::uint64_t found = entry(low - 1);
  const bool overwritten = count_.load(std::memory_order_acquire) >= low - 1 + kSize;
  return overwritten ? kNoId : static_cast<ModuleId>(found & kModuleMask);
}

SequenceModules::~SequenceModules() {
  for (auto& borders : borders_) delete borders.load();
}

SequenceModules::Borders* SequenceModules::borders(std::uint64_t thread) {
  if (thread == 0) return nullptr;
  for (std::size_t i = 0; i < kMaxThreads; ++i) {
    const std::size_t slot = (thread + i) % kMaxThreads;
    std::uint64_t owner = threads_[slot].load(std::memory_order_acquire);
    if (owner == 0 && threads_[slot].compare_exchange_strong(owner, thread)) {
      borders_[slot].store(std::make_unique<Borders>().release(), std::memory_order_release);
    } else if (owner != thread) {
      continue;
    }
    return borders_[slot].load(std::memory_order_acquire);
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
    const Borders* borders = borders_[slot].load(std::memory_order_acquire);
    return borders ? borders->find(sequence) : kNoId;
  }
  return kNoId;
}

}  // namespace highwater::probe
