#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/ids.h"

namespace highwater::probe {

/// A span that was open when somebody looked.
struct OpenSpanView {
  std::int64_t beginNs = 0;
  NameId name = kNoId;
};

/// The spans that one thread has open, innermost last. The owner pushes and pops; any other thread
/// may look, and neither waits for the other: that is how a hang shows the op that hangs.
///
/// Each op of a training passes through here, so a push is as little as can be: who looks asks for
/// spans that are old by now, and by their age tells them from what the owner is writing.
class OpenSpanStack {
 public:
  static constexpr std::uint32_t kMaxDepth = 64;
  using Views = std::array<OpenSpanView, kMaxDepth>;

  /// Owner only. What is deeper than kMaxDepth is counted but not shown. A begin before the
  /// enclosing span's is taken for that.
  void push(std::int64_t beginNs, NameId name) noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth < kMaxDepth) {
      Entry& entry = entries_[depth];
      if (depth > 0) {
        const std::int64_t outer = entries_[depth - 1].beginNs.load(std::memory_order_relaxed);
        beginNs = std::max(beginNs, outer);
      }
      // The begin first: who sees the name sees that it is young.
      entry.beginNs.store(beginNs, std::memory_order_relaxed);
      entry.name.store(name, std::memory_order_release);
    }
    depth_.store(depth + 1, std::memory_order_release);
  }

  /// Owner only.
  void pop() noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth > 0) depth_.store(depth - 1, std::memory_order_release);
  }

  [[nodiscard]] std::uint32_t depth() const { return depth_.load(std::memory_order_acquire); }

  /// Copies what is open since `bornBeforeNs` or longer, outermost first, and returns how many.
  /// That time must be past for the owner: it pushes nothing any more that begins before.
  [[nodiscard]] std::uint32_t read(Views& out, std::int64_t bornBeforeNs) const noexcept {
    const std::uint32_t depth = std::min(depth_.load(std::memory_order_acquire), kMaxDepth);
    for (std::uint32_t i = 0; i < depth; ++i) {
      const Entry& entry = entries_[i];
      out[i].name = entry.name.load(std::memory_order_acquire);
      out[i].beginNs = entry.beginNs.load(std::memory_order_acquire);
      // What is inside of a young span is younger still; a child older than its parent is what an
      // earlier parent left behind.
      if (out[i].beginNs > bornBeforeNs) return i;
      if (i > 0 && out[i].beginNs < out[i - 1].beginNs) return i;
    }
    return depth;
  }

 private:
  struct Entry {
    std::atomic<std::int64_t> beginNs{0};
    std::atomic<std::uint32_t> name{0};
  };
  std::array<Entry, kMaxDepth> entries_;
  std::atomic<std::uint32_t> depth_{0};
};

}  // namespace highwater::probe
