#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace highwater::probe {

/// A set-associative cache for one thread that maps a 64-bit hash to an id. Holds kSets sets of
/// kWays entries; each set replaces its oldest entry. Equal hashes count as equal keys. Takes no
/// lock; allocates at the first use only.
template <std::size_t kSets, std::size_t kWays>
class RecentIds {
 public:
  /// Returns the cached id of `hash`. Where it is not cached, calls `make()` for the id and caches
  /// it. The low bits of the hash choose the set.
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

  /// Empties the cache.
  void forget() { sets_.clear(); }

 private:
  static constexpr std::uint32_t kEmpty = UINT32_MAX;  // above every cap of core/ids.h

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
