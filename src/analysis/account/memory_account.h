#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/account/time_account.h"

namespace highwater::analysis {

/// The counters of the account: PyTorch's and the driver's, and the footprint of the process.
enum class MemoryCounter : std::uint8_t { Current, Driver, Footprint };
inline constexpr std::size_t kMemoryCounters = 3;

/// What one counter did in a region: bytes.
struct CounterChange {
  std::int64_t change = 0;  ///< the sum over all visits
  std::uint64_t peak = 0;   ///< the highest reading, see `exact`; 0 without one
  bool exact = false;       ///< the peak is the allocator's own, not a sample
  std::uint64_t readings = 0;
};

/// A row of the account: all visits of a region, of steps those of one setting.
struct RegionMemory {
  Region region = Region::StartUp;
  std::string name;                                     ///< of a NamedPhase
  std::uint32_t batchSize = 0, sequenceLength = 0;      ///< of a Step; 0: unknown
  std::uint64_t count = 0;                              ///< visits
  std::array<CounterChange, kMemoryCounters> counters;  ///< by MemoryCounter

  [[nodiscard]] const CounterChange& of(MemoryCounter counter) const;
  [[nodiscard]] CounterChange& of(MemoryCounter counter);
  /// The region for people: "evaluation", "augment", "steps of batch 32 × 128".
  [[nodiscard]] std::string text() const;
};

/// Where the memory of a run went: the changes of each counter between its readings, each of which
/// belongs to one region, so that the rows add up to last - first to the byte.
///
/// A change belongs to the row in which most of the time between its two readings lies, so that
/// what an evaluation allocated just before it ended is not the next step's.
struct MemoryAccount {
  std::vector<RegionMemory> rows;  ///< in the order in which the regions were first visited
  std::array<std::optional<std::int64_t>, kMemoryCounters> first, last;  ///< readings, in bytes

  /// Last reading - first reading; 0 without readings.
  [[nodiscard]] std::int64_t change(MemoryCounter counter) const;
  /// The row with the highest reading; nullptr without any.
  [[nodiscard]] const RegionMemory* highest(MemoryCounter counter) const;
};

/// Makes the account of the whole run, or of the readings in a range.
[[nodiscard]] MemoryAccount memoryAccount(const LiveStore& store,
                                          std::optional<TimeRange> range = std::nullopt);

}  // namespace highwater::analysis
