#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "probe/name_table.h"
#include "probe/recent_ids.h"

namespace highwater::probe {

/// The shape of one tensor; `dtype` is any number that tells the types apart.
struct TensorShape {
  std::span<const std::int64_t> sizes;
  std::uint8_t dtype = 0;
};

/// Hashes a list of shapes, one tensor after the other.
class ShapeHash {
 public:
  void add(const TensorShape& shape) noexcept {
    for (const std::int64_t size : shape.sizes) mix(static_cast<std::uint64_t>(size));
    // A rank ends each tensor: [2, 3] is not [2], [3].
    mix((shape.sizes.size() << 8 | shape.dtype) ^ kEnd);
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    // Only here: the high bits of the products go into the low ones, which find() takes first.
    const std::uint64_t folded = (state_ ^ state_ >> 32) * kFactor;
    return folded ^ folded >> 29;
  }

 private:
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;

  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;

  void mix(std::uint64_t word) noexcept { state_ = (std::rotl(state_, 23) ^ word) * kFactor; }
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

/// One thread's way from a hash of shapes to the id of their text, without a lock or an allocation
/// where it saw them before. Two lists with one hash of 64 bits would be taken for one.
class ShapeTexts {
 public:
  explicit ShapeTexts(NameTable& table) : table_(table) {}

  /// `write()` returns the text; it is called only where `hash` is new to this thread.
  template <typename F>
  [[nodiscard]] NameId find(std::uint64_t hash, F&& write) {
    return ids_.find(hash, [&] { return table_.internBulk(write()); });
  }

 private:
  NameTable& table_;
  RecentIds<1024, 4> ids_;
};

/// Appends "[16, 64] int64" to `text`, after a comma where something precedes it.
void appendShape(std::string& text, std::span<const std::int64_t> sizes, std::string_view dtype);

}  // namespace highwater::probe
