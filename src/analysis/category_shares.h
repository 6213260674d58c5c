#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace highwater::analysis {

/// What the spans of one category add up to: their time, and how many of them begin.
struct CategoryTime {
  std::uint8_t category = 0;
  std::int64_t ns = 0;
  std::int64_t begun = 0;

  bool operator==(const CategoryTime&) const = default;
};

/// Sums of time and number by category, of any range of a lane's spans, in the time that it takes
/// to walk half a block of them. It keeps the sums before every sixteenth span only, or before
/// fewer where there are more than eight categories: at most 6 bytes a span, and none before the
/// first query.
///
/// A SpanIndex owns it and says what has changed. The spans are given to each function as `at(i)`,
/// which returns the span of index i, by value or by reference.
class CategoryShares {
 public:
  /// The sums of spans, by slot: see categoryOf().
  struct Sums {
    std::vector<std::int64_t> ns, begun;
  };

  /// The spans from `index` on are new, have moved or have another category.
  void changedFrom(std::size_t index) { known_ = std::min(known_, index / block_); }

  /// Reads the spans that are new since the last call. Call it before the functions below.
  template <typename SpanAt>
  void extend(std::size_t size, SpanAt&& at) {
    const auto meet = [&](std::size_t from, std::size_t to) {
      const std::size_t block = block_;
      for (std::size_t i = from; i < to; ++i) {
        if (slots_[at(i).category] == kNoSlot) addSlot(at(i).category);
      }
      return block == block_;  // else all sums are to be made again
    };
    for (std::size_t from = known_ * block_; from < size; from = known_ * block_) {
      const std::size_t to = from + block_;
      if (!meet(from, std::min(to, size))) continue;
      if (to > size) break;
      grow(nsBefore_);
      grow(begunBefore_);
      const auto before = static_cast<std::ptrdiff_t>(known_ * stride_);
      const auto after = before + static_cast<std::ptrdiff_t>(stride_);
      std::copy(nsBefore_.begin() + before, nsBefore_.begin() + after, nsBefore_.begin() + after);
      std::copy(begunBefore_.begin() + before, begunBefore_.begin() + after,
                begunBefore_.begin() + after);
      for (std::size_t i = from; i < to; ++i) {
        const auto& span = at(i);
        const std::size_t place = (known_ + 1) * stride_ + slots_[span.category];
        nsBefore_[place] += span.endNs - span.beginNs;
        ++begunBefore_[place];
      }
      ++known_;
    }
  }

  /// Moves `sums` from being those of the spans before `from` to those before `to`.
  template <typename SpanAt>
  void advance(Sums& sums, std::size_t from, std::size_t to, SpanAt&& at) const {
    if (to - from > block_) {
      // From the nearest block, which may lie behind `to`.
      const std::size_t nearest = std::min((to + block_ / 2) / block_, known_);
      for (std::size_t slot = 0; slot < categories_.size(); ++slot) {
        sums.ns[slot] = nsBefore_[nearest * stride_ + slot];
        sums.begun[slot] = begunBefore_[nearest * stride_ + slot];
      }
      from = nearest * block_;
    }
    for (std::size_t i = from; i < to; ++i) add(sums, at(i), 1);
    for (std::size_t i = from; i > to; --i) add(sums, at(i - 1), -1);
  }

  /// The time of spans by slot.
  using Times = std::vector<std::int64_t>;
  [[nodiscard]] Times noTimes() const { return Times(categories_.size()); }

  /// Writes the times of the spans before `index`.
  template <typename SpanAt>
  void timesBefore(std::size_t index, SpanAt&& at, Times& times) const {
    const std::size_t nearest = std::min((index + block_ / 2) / block_, known_);
    const std::int64_t* known = nsBefore_.data() + nearest * stride_;
    std::copy(known, known + times.size(), times.begin());
    for (std::size_t i = nearest * block_; i < index; ++i) addTime(times, at(i), 1);
    for (std::size_t i = nearest * block_; i > index; --i) addTime(times, at(i - 1), -1);
  }
  /// Writes the times of the spans [from, to): for few of them.
  template <typename SpanAt>
  void timesOf(std::size_t from, std::size_t to, SpanAt&& at, Times& times) const {
    std::fill(times.begin(), times.end(), 0);
    for (std::size_t i = from; i < to; ++i) addTime(times, at(i), 1);
  }
  /// The category with most of the spans [from, to), the lowest of equal ones. Precondition: there
  /// are spans.
  template <typename SpanAt>
  [[nodiscard]] std::uint8_t mostOften(std::size_t from, std::size_t to, SpanAt&& at) const {
    Sums before = nothing();
    advance(before, 0, from, at);
    Sums behind = before;
    advance(behind, from, to, at);
    std::size_t best = 0;
    for (std::size_t slot = 1; slot < categories_.size(); ++slot) {
      const std::int64_t more =
          (behind.begun[slot] - before.begun[slot]) - (behind.begun[best] - before.begun[best]);
      if (more > 0 || (more == 0 && categories_[slot] < categories_[best])) best = slot;
    }
    return categories_[best];
  }

  /// The sums before the first span.
  [[nodiscard]] Sums nothing() const {
    return {std::vector<std::int64_t>(categories_.size()),
            std::vector<std::int64_t>(categories_.size())};
  }
  [[nodiscard]] std::size_t slotCount() const { return categories_.size(); }
  /// The category whose sums are in a slot.
  [[nodiscard]] std::uint8_t categoryOf(std::size_t slot) const { return categories_[slot]; }
  /// The slot of a category that has spans.
  [[nodiscard]] std::size_t slotOf(std::uint8_t category) const { return slots_[category]; }

  /// The memory that the sums take, in bytes.
  [[nodiscard]] std::size_t bytes() const {
    return nsBefore_.capacity() * sizeof(std::int64_t) +
           begunBefore_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::size_t kLeastBlock = 16, kLeastStride = 4;
  static constexpr std::uint16_t kNoSlot = 0xFFFF;

  /// Room for the sums after block `known_`; an eighth at a time, as reserveOneMore().
  template <typename T>
  void grow(std::vector<T>& sums) const {
    const std::size_t size = (known_ + 2) * stride_;
    if (size > sums.capacity()) sums.reserve(size + size / 8);
    sums.resize(size);
  }

  template <typename Span>
  void addTime(Times& times, const Span& span, std::int64_t sign) const {
    times[slots_[span.category]] += sign * (span.endNs - span.beginNs);
  }
  template <typename Span>
  void add(Sums& sums, const Span& span, std::int64_t sign) const {
    const std::size_t slot = slots_[span.category];
    sums.ns[slot] += sign * (span.endNs - span.beginNs);
    sums.begun[slot] += sign;
  }
  void addSlot(std::uint8_t category);

  [[nodiscard]] static std::array<std::uint16_t, 256> noSlots() {
    std::array<std::uint16_t, 256> none{};
    none.fill(kNoSlot);
    return none;
  }

  std::array<std::uint16_t, 256> slots_ = noSlots();  ///< by category
  std::vector<std::uint8_t> categories_;              ///< by slot
  std::size_t stride_ = kLeastStride;                 ///< room for so many slots in a block
  std::size_t block_ = kLeastBlock;                   ///< spans between two sums
  std::size_t known_ = 0;                             ///< blocks whose sums are up to date
  /// The sums before each block, by slot; that before the first is zero.
  std::vector<std::int64_t> nsBefore_ = std::vector<std::int64_t>(kLeastStride);
  std::vector<std::uint32_t> begunBefore_ = std::vector<std::uint32_t>(kLeastStride);
};

}  // namespace highwater::analysis
