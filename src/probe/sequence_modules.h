#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/ids.h"

namespace highwater::probe {

/// Which module made which node of backward, by the number that autograd gives to both: a forward
/// op and its node share the number of the forward's thread (RecordFunction::seqNr(), the node's
/// forwardThreadId()). Written while forward runs, read by the threads of backward; neither locks.
class SequenceModules {
 public:
  /// One thread's numbers. The last kSize of them are kept.
  class Ring {
   public:
    static constexpr std::size_t kSize = std::size_t{1} << 15;

    /// The thread's own: the op with `sequence` runs in `module`. Of ops with one number the last
    /// counts: the number is taken only when a node is made, so those before made none.
    void note(std::int64_t sequence, ModuleId module) noexcept {
      entries_[index(sequence)].store(pack(sequence, module), std::memory_order_release);
    }
    /// Any thread; kNoId where it was never noted, or too long ago.
    [[nodiscard]] ModuleId find(std::int64_t sequence) const noexcept {
      const std::uint64_t entry = entries_[index(sequence)].load(std::memory_order_acquire);
      const auto module = static_cast<ModuleId>(entry & kModuleMask);
      return entry == pack(sequence, module) ? module : kNoId;
    }

   private:
    static constexpr int kModuleBits = 16;
    static constexpr std::uint64_t kModuleMask = (std::uint64_t{1} << kModuleBits) - 1;
    static_assert(kMaxModules <= kModuleMask);

    static std::size_t index(std::int64_t sequence) {
      return static_cast<std::size_t>(sequence) % kSize;
    }
    static std::uint64_t pack(std::int64_t sequence, ModuleId module) {
      // One more, so that an entry that was never written fits no number.
      return (static_cast<std::uint64_t>(sequence) + 1) << kModuleBits | module;
    }

    std::array<std::atomic<std::uint64_t>, kSize> entries_{};
  };

  /// The ring of the thread that RecordFunction calls `thread`, made at the first call, which that
  /// thread makes; nullptr once kMaxThreads have one.
  [[nodiscard]] Ring* ring(std::uint64_t thread);
  /// The module of a node of backward. Any thread.
  [[nodiscard]] ModuleId find(std::uint64_t thread, std::int64_t sequence) const noexcept;

  ~SequenceModules();

 private:
  static constexpr std::size_t kMaxThreads = 64;

  // A thread has its slot for ever: its nodes may outlive it.
  std::array<std::atomic<std::uint64_t>, kMaxThreads> threads_{};  // 0: free
  std::array<std::atomic<Ring*>, kMaxThreads> rings_{};
};

}  // namespace highwater::probe
