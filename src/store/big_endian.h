#pragma once

#include <cstddef>
#include <cstdint>

namespace highwater::store {

/// The unsigned number in `count` <= 4 bytes of `bytes` from `at` on, the highest byte first, as
/// SQLite stores numbers in its files. Precondition: the bytes exist.
template <typename Bytes>
[[nodiscard]] std::uint32_t bigEndian(const Bytes& bytes, std::size_t at, std::size_t count = 4) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

}  // namespace highwater::store
