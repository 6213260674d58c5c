#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/ids.h"

namespace highwater::probe {

/// Maps autograd's sequence numbers to modules, to find the module of a backward node. A forward op
/// and its node share the number of the forward thread (RecordFunction::seqNr(), the node's
/// forwardThreadId()). Written during forward, read by backward's threads; lock-free.
class SequenceModules {
 public:
  /// The sequence numbers of the forward ops of one thread, each with the module of its op. Holds
  /// the last kSize numbers; a newer one overwrites the number kSize before it.
  class Ring {
   public:
    /// The number of sequence numbers that a ring holds.
    static constexpr std::size_t kSize = std::size_t{1} << 15;

    /// Stores that the op with `sequence` runs in `module`. Owning thread only. Of several ops with
    /// one number the last counts: a number is used up only when a backward node is created, so the
    /// earlier ones created none.
    void note(std::int64_t sequence, ModuleId module) noexcept {
      entries_[index(sequence)].store(pack(sequence, module), std::memory_order_release);
    }
    /// Returns the module of the op with `sequence`; kNoId if it was never noted or was
    /// overwritten. Any thread.
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
      // Plus one, so that an entry that was never written matches no number.
      return (static_cast<std::uint64_t>(sequence) + 1) << kModuleBits | module;
    }

    std::array<std::atomic<std::uint64_t>, kSize> entries_{};
  };

  /// Returns the ring of the calling thread, created at the first call. `thread` is
  /// RecordFunction's number of this thread. Returns nullptr once kMaxThreads threads have a ring.
  [[nodiscard]] Ring* ring(std::uint64_t thread);
  /// Returns the module of a backward node, given the thread and the sequence number of its forward
  /// op; kNoId where unknown. Any thread.
  [[nodiscard]] ModuleId find(std::uint64_t thread, std::int64_t sequence) const noexcept;

  ~SequenceModules();

 private:
  static constexpr std::size_t kMaxThreads = 64;

  // A thread keeps its slot for ever: its nodes may outlive it.
  std::array<std::atomic<std::uint64_t>, kMaxThreads> threads_{};  // 0: free
  std::array<std::atomic<Ring*>, kMaxThreads> rings_{};
};

}  // namespace highwater::probe
