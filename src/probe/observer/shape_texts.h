#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "probe/observer/name_table.h"
#include "probe/observer/recent_ids.h"

namespace highwater::probe {

/// The shape and type of one tensor. `dtype` is any number that identifies the type.
struct TensorShape {
  std::span<const std::int64_t> sizes;
  std::uint8_t dtype = 0;
};

/// Computes a 64-bit hash of a list of tensor shapes, tensor by tensor.
class ShapeHash {
 public:
  /// Adds the shape of the next tensor.
  void add(const TensorShape& shape) noexcept {
    for (const std::int64_t size : shape.sizes) mix(static_cast<std::uint64_t>(size));
    // The rank ends each tensor, so that [2, 3] differs from [2], [3].
    mix((shape.sizes.size() << 8 | shape.dtype) ^ kEnd);
  }
  /// The hash of the shapes added so far.
  [[nodiscard]] std::uint64_t value() const noexcept {
    // Folds the high bits of the products into the low ones, which RecentIds uses first.
    const std::uint64_t folded = (state_ ^ state_ >> 32) * kFactor;
    return folded ^ folded >> 29;
  }

 private:
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;

  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;

  void mix(std::uint64_t word) noexcept { state_ = (std::rotl(state_, 23) ^ word) * kFactor; }
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

/// A cache for one thread that maps the hash of a list of shapes to the id of their text, without a
/// lock or an allocation on a hit. Two lists with the same 64-bit hash would share one text.
class ShapeTexts {
 public:
  /// Makes an empty cache in front of `table`, which must outlive it.
  explicit ShapeTexts(NameTable& table) : table_(table) {}

  /// Returns the id of the text for `hash`. Where it is not cached, calls `write()` for the text
  /// and interns it; kOtherId where the table is full.
  template <typename F>
  [[nodiscard]] NameId find(std::uint64_t hash, F&& write) {
    return ids_.find(hash, [&] { return table_.internBulk(write()); });
  }

 private:
  NameTable& table_;
  RecentIds<1024, 4> ids_;
};

/// Appends a tensor's shape and type, such as "[16, 64] int64", to `text`, after ", " where the
/// text is not empty.
void appendShape(std::string& text, std::span<const std::int64_t> sizes, std::string_view dtype);

}  // namespace highwater::probe
