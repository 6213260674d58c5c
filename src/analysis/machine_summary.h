#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "analysis/live_store.h"
#include "analysis/time_range.h"

namespace highwater::analysis {

/// The machine in a range, by its samples there; empty or 0 where unknown.
struct MachineSummary {
  std::optional<std::uint64_t> compressorPeakBytes, gpuPeakBytes;
  /// Between the first and the last sample, by all processes.
  std::optional<std::uint64_t> swappedInBytes, swappedOutBytes;
  std::optional<std::uint64_t> swapPeakBytesPerS;  ///< both ways together, over a second
  /// Time in each state, indexed by events::ThermalState and events::PowerMode: a sample counts
  /// until the next one, for kLongestHoldNs at most.
  std::array<std::int64_t, static_cast<std::size_t>(events::ThermalState::MAX) + 1> thermalNs{};
  std::array<std::int64_t, static_cast<std::size_t>(events::PowerMode::MAX) + 1> powerNs{};
  static constexpr std::int64_t kLongestHoldNs = 2'000'000'000;

  /// The hottest state that was seen; Unknown if none is known.
  [[nodiscard]] events::ThermalState hottest() const;
  /// The share (0 to 1) of the known time in `state` or a hotter one; 0 if none is known.
  [[nodiscard]] double shareFrom(events::ThermalState state) const;
  /// The share (0 to 1) of the known time in Low Power Mode; std::nullopt if none is known.
  [[nodiscard]] std::optional<double> lowPowerShare() const;
};

/// Summarizes the samples of the machine in a range of time.
[[nodiscard]] MachineSummary summarizeMachine(const LiveStore& store, const TimeRange& range);

}  // namespace highwater::analysis
