#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/events_generated.h"
#include "core/ids.h"

namespace highwater::probe {

/// A span that was open when somebody looked.
struct OpenSpanView {
  std::int64_t beginNs = 0;
  NameId name = kNoId;
  std::uint32_t step = 0;
  events::Phase phase = events::Phase::None;
};

/// The spans that one thread has open, innermost last. The owner pushes and pops; any other thread
/// may look, and neither waits for the other: that is how a hang shows the op that hangs.
class OpenSpanStack {
 public:
  static constexpr std::uint32_t kMaxDepth = 64;
  using Views = std::array<OpenSpanView, kMaxDepth>;

  /// Owner only. What is deeper than kMaxDepth is counted but not shown.
  void push(std::int64_t beginNs, NameId name, std::uint32_t step, events::Phase phase) noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth < kMaxDepth) {
      Entry& entry = entries_[depth];
      const std::uint32_t version = entry.version.load(std::memory_order_relaxed);
      entry.version.store(version + 1, std::memory_order_relaxed);
      // Release stores: a reader that sees one of them sees the odd version too.
      entry.beginNs.store(beginNs, std::memory_order_release);
      entry.name.store(name, std::memory_order_release);
      entry.step.store(step, std::memory_order_release);
      entry.phase.store(phase, std::memory_order_release);
      entry.version.store(version + 2, std::memory_order_release);
    }
    depth_.store(depth + 1, std::memory_order_release);
  }

  /// Owner only.
  void pop() noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth > 0) depth_.store(depth - 1, std::memory_order_release);
  }

  [[nodiscard]] std::uint32_t depth() const { return depth_.load(std::memory_order_acquire); }

  /// Copies what is open, outermost first, and returns how many. Where the owner is at work
  /// meanwhile, the spans that changed and those inside of them are left out: they are young.
  [[nodiscard]] std::uint32_t read(Views& out) const noexcept {
    const std::uint32_t depth = std::min(depth_.load(std::memory_order_acquire), kMaxDepth);
    for (std::uint32_t i = 0; i < depth; ++i) {
      const Entry& entry = entries_[i];
      const std::uint32_t before = entry.version.load(std::memory_order_acquire);
      out[i].beginNs = entry.beginNs.load(std::memory_order_acquire);
      out[i].name = entry.name.load(std::memory_order_acquire);
      out[i].step = entry.step.load(std::memory_order_acquire);
      out[i].phase = entry.phase.load(std::memory_order_acquire);
      const std::uint32_t after = entry.version.load(std::memory_order_relaxed);
      if (before != after || before % 2 != 0) return i;
      // A child older than its parent is what an earlier parent left behind.
      if (i > 0 && out[i].beginNs < out[i - 1].beginNs) return i;
    }
    return depth;
  }

 private:
  struct Entry {
    std::atomic<std::uint32_t> version{0};  // odd while it is written
    std::atomic<std::uint32_t> name{0};
    std::atomic<std::int64_t> beginNs{0};
    std::atomic<std::uint32_t> step{0};
    std::atomic<events::Phase> phase{events::Phase::None};
  };
  std::array<Entry, kMaxDepth> entries_;
  std::atomic<std::uint32_t> depth_{0};
};

}  // namespace highwater::probe
