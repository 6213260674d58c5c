#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace highwater::probe {

/// One thread's way from a hash of 64 bits to the id of what has it, without a lock, and without an
/// allocation but at the first. What has the same hash is taken for the same. Of each kWays
/// candidates the oldest makes room.
template <std::size_t kSets, std::size_t kWays>
class RecentIds {
 public:
  /// The id that is kept for `hash`, else `make()`, which is then kept. The low bits choose the
  /// candidates.
  template <typename Make>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Make&& make) {
    if (sets_.empty()) sets_.resize(kSets);
    Set& set = sets_[hash % kSets];
    for (const Entry& entry : set.entries) {
      if (entry.hash == hash && entry.id != kEmpty) return entry.id;
    }
    const std::uint32_t id = std::forward<Make>(make)();
    set.entries[set.next] = {hash, id};
    set.next = (set.next + 1) % kWays;
    return id;
  }

  void forget() { sets_.clear(); }

 private:
  static constexpr std::uint32_t kEmpty = UINT32_MAX;  // past every cap of core/ids.h

  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t id = kEmpty;
  };
  struct Set {
    std::array<Entry, kWays> entries{};
    std::size_t next = 0;
  };

  std::vector<Set> sets_;
};

}  // namespace highwater::probe
