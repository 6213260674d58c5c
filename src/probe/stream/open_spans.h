#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/ids.h"

namespace highwater::probe {

/// A span that has begun and not ended, as OpenSpanStack::read() found it. `beginNs` counts from
/// the run's epoch.
struct OpenSpanView {
  std::int64_t beginNs = 0;
  NameId name = kNoId;
};

/// The open spans (ops and phases that have not ended) of one thread, innermost last. The owning
/// thread pushes and pops, and any other thread may read; no locks. The sender reads it to name the
/// op in which training hangs.
///
/// Every op pushes here, so a push must be cheap. That is why read() returns only spans older than
/// a given time: their age tells them from an entry that the owner is just writing.
class OpenSpanStack {
 public:
  /// The number of nested spans that the stack stores.
  static constexpr std::uint32_t kMaxDepth = 64;
  /// Room for all spans that read() can return.
  using Views = std::array<OpenSpanView, kMaxDepth>;

  /// Adds an open span inside the innermost one. Owning thread only. Spans deeper than kMaxDepth
  /// are counted but not stored. A begin before that of the enclosing span is raised to it.
  void push(std::int64_t beginNs, NameId name) noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth < kMaxDepth) {
      Entry& entry = entries_[depth];
      if (depth > 0) {
        const std::int64_t outer = entries_[depth - 1].beginNs.load(std::memory_order_relaxed);
        beginNs = std::max(beginNs, outer);
      }
      // The begin first: a reader that sees the new name also sees the new begin.
      entry.beginNs.store(beginNs, std::memory_order_relaxed);
      entry.name.store(name, std::memory_order_release);
    }
    depth_.store(depth + 1, std::memory_order_release);
  }

  /// Removes the innermost open span; does nothing where there is none. Owning thread only.
  void pop() noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth > 0) depth_.store(depth - 1, std::memory_order_release);
  }

  /// The number of open spans, also those too deep to be stored. Any thread.
  [[nodiscard]] std::uint32_t depth() const { return depth_.load(std::memory_order_acquire); }

  /// Copies the spans that began at `bornBeforeNs` or before, outermost first; returns their
  /// number. Any thread. Precondition: the owner pushes no more spans that begin before
  /// `bornBeforeNs`.
  [[nodiscard]] std::uint32_t read(Views& out, std::int64_t bornBeforeNs) const noexcept {
    const std::uint32_t depth = std::min(depth_.load(std::memory_order_acquire), kMaxDepth);
    for (std::uint32_t i = 0; i < depth; ++i) {
      const Entry& entry = entries_[i];
      out[i].name = entry.name.load(std::memory_order_acquire);
      out[i].beginNs = entry.beginNs.load(std::memory_order_acquire);
      // Spans inside a young span are younger still. A child older than its parent is a leftover of
      // an earlier parent.
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

/// An open span of the current thread while it exists, also where an exception ends it.
class OpenSpanScope {
 public:
  /// Pushes onto `stack`, the current thread's, which must outlive the scope.
  OpenSpanScope(OpenSpanStack& stack, std::int64_t beginNs, NameId name) noexcept : stack_(stack) {
    stack_.push(beginNs, name);
  }
  ~OpenSpanScope() { stack_.pop(); }
  OpenSpanScope(const OpenSpanScope&) = delete;
  OpenSpanScope& operator=(const OpenSpanScope&) = delete;

 private:
  OpenSpanStack& stack_;
};

}  // namespace highwater::probe
