#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace highwater::probe {

/// A lock-free queue of fixed capacity for one pushing and one draining thread. Allocates only in
/// the constructor.
template <typename T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Makes an empty queue for `capacity` values, rounded up to a power of two.
  explicit SpscRing(std::size_t capacity)
      : slots_(std::bit_ceil(capacity)), mask_(slots_.size() - 1) {}

  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

  /// Adds `value` at the end. Returns false, and adds nothing, if the ring is full. Pushing thread
  /// only.
  [[nodiscard]] bool tryPush(const T& value) noexcept { return tryEmplace(value); }
  /// Adds T(args...), constructed in place, at the end. Returns false, and adds nothing, if the
  /// ring is full. Pushing thread only.
  template <typename... Args>
  [[nodiscard]] bool tryEmplace(Args&&... args) noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head - knownTail_ == slots_.size()) {
      knownTail_ = tail_.load(std::memory_order_acquire);
      if (head - knownTail_ == slots_.size()) return false;
    }
    ::new (static_cast<void*>(&slots_[head & mask_])) T(std::forward<Args>(args)...);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// Removes all values, oldest first, and calls f(value) for each. Returns their number. Draining
  /// thread only.
  template <typename F>
  std::size_t drain(F&& f) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t head = head_.load(std::memory_order_acquire);
    for (std::size_t i = tail; i != head; ++i) f(slots_[i & mask_]);
    tail_.store(head, std::memory_order_release);
    return head - tail;
  }

 private:
  // Not std::hardware_destructive_interference_size: two files may be compiled with different
  // values.
  static constexpr std::size_t kCacheLine = 128;

  std::vector<T> slots_;
  std::size_t mask_;
  alignas(kCacheLine) std::atomic<std::size_t> head_{0};
  std::size_t knownTail_ = 0;  // tail_ as the pushing thread read it last
  alignas(kCacheLine) std::atomic<std::size_t> tail_{0};
};

}  // namespace highwater::probe
