#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/ids.h"

namespace highwater::probe {

/// Maps autograd's sequence numbers to modules, to find the module of a backward node. A node takes
/// the next number of the thread that runs its forward op. So a module owns the numbers from the
/// one that was next when its scope began to the one that was next when it ended. Written at the
/// borders of module scopes, read by backward's threads; lock-free.
class SequenceModules {
 public:
  /// The borders between modules in the sequence numbers of one thread. Holds the last kSize
  /// borders; a newer one overwrites the oldest.
  class Borders {
   public:
    /// The number of borders that are kept: four for each of 1000 nested modules, for 8 passes.
    static constexpr std::size_t kSize = std::size_t{1} << 15;

    /// Notes that the numbers from `next` on belong to `module`. Of several borders at one number
    /// the last counts. Owning thread only; numbers never fall.
    void note(std::int64_t next, ModuleId module) noexcept;
    /// Returns the module of `sequence`; kNoId where that number came before the oldest border that
    /// is kept. Any thread.
    [[nodiscard]] ModuleId find(std::int64_t sequence) const noexcept;

   private:
    static constexpr int kModuleBits = 16;
    static constexpr std::uint64_t kModuleMask = (std::uint64_t{1} << kModuleBits) - 1;
    static_assert(kMaxModules <= kModuleMask);

    static std::uint64_t pack(std::int64_t sequence, ModuleId module) {
      return static_cast<std::uint64_t>(sequence) << kModuleBits | module;
    }
    static std::int64_t sequenceOf(std::uint64_t entry) {
      return static_cast<std::int64_t>(entry >> kModuleBits);
    }
    [[nodiscard]] std::uint64_t entry(std::uint64_t index) const noexcept {
      return entries_[index % kSize].load(std::memory_order_acquire);
    }

    std::array<std::atomic<std::uint64_t>, kSize> entries_{};
    std::atomic<std::uint64_t> count_{0};  // of all borders ever noted
  };

  /// Returns the borders of the calling thread, created at the first call. `thread` is
  /// RecordFunction's number of this thread. Returns nullptr where that is 0, and once kMaxThreads
  /// threads have borders.
  [[nodiscard]] Borders* borders(std::uint64_t thread);
  /// Returns the module of a backward node, given the thread and the sequence number of its forward
  /// op; kNoId where unknown. Any thread.
  [[nodiscard]] ModuleId find(std::uint64_t thread, std::int64_t sequence) const noexcept;

  ~SequenceModules();

 private:
  static constexpr std::size_t kMaxThreads = 64;

  // A thread keeps its slot for ever: its nodes may outlive it.
  std::array<std::atomic<std::uint64_t>, kMaxThreads> threads_{};  // 0: free
  std::array<std::atomic<Borders*>, kMaxThreads> borders_{};
};

}  // namespace highwater::probe
