#include "analysis/machine_summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace highwater::analysis {
namespace {

std::optional<std::uint64_t> wholeIfKnown(double value) {
  if (std::isnan(value) || value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

/// By how much a counter grew from one row to another; empty where unknown.
std::optional<std::uint64_t> grownBy(const SeriesPyramid& counter, std::size_t from,
                                     std::size_t to) {
  return from < to ? wholeIfKnown(counter[to] - counter[from]) : std::nullopt;
}

}  // namespace

events::ThermalState MachineSummary::hottest() const {
  for (std::size_t state = thermalNs.size() - 1; state > 0; --state) {
    if (thermalNs[state] > 0) return static_cast<events::ThermalState>(state);
  }
  return events::ThermalState::Unknown;
}

double MachineSummary::shareFrom(events::ThermalState state) const {
  const auto known = std::accumulate(thermalNs.begin() + 1, thermalNs.end(), std::int64_t{0});
  const auto from = std::accumulate(thermalNs.begin() + static_cast<std::ptrdiff_t>(state),
                                    thermalNs.end(), std::int64_t{0});
  return known > 0 ? static_cast<double>(from) / static_cast<double>(known) : 0;
}

std::optional<double> MachineSummary::lowPowerShare() const {
  const std::int64_t low = powerNs[static_cast<std::size_t>(events::PowerMode::Low)];
  const std::int64_t known = low + powerNs[static_cast<std::size_t>(events::PowerMode::Normal)];
  if (known <= 0) return std::nullopt;
  return static_cast<double>(low) / static_cast<double>(known);
}

MachineSummary summarizeMachine(const LiveStore& store, const TimeRange& range) {
  MachineSummary summary;
  const MachineColumns& columns = store.machine();
  const auto& times = columns.timesNs;
  const auto rowFrom = [&times](std::int64_t ns) {
    return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), ns) -
                                    times.begin());
  };
  const std::size_t first = rowFrom(range.beginNs), end = rowFrom(range.endNs);
  if (first >= end) return summary;
  summary.compressorPeakBytes = wholeIfKnown(columns.compressor.minMax(first, end).max);
  summary.gpuPeakBytes = wholeIfKnown(columns.gpuBytes.minMax(first, end).max);
  summary.swappedInBytes = grownBy(columns.swappedIn, first, end - 1);
  summary.swappedOutBytes = grownBy(columns.swappedOut, first, end - 1);
  summary.swapPeakBytesPerS = wholeIfKnown(columns.swapRate.minMax(first, end).max);
  const std::int64_t endNs = std::min(range.endNs, std::max(store.completeUpToNs(), times.back()));
  for (std::size_t row = first; row < end; ++row) {
    const std::int64_t nextNs = row + 1 < times.size() ? std::min(times[row + 1], endNs) : endNs;
    const std::int64_t ns = std::min(nextNs - times[row], MachineSummary::kLongestHoldNs);
    if (ns <= 0) continue;
    summary.thermalNs[static_cast<std::size_t>(columns.thermal[row])] += ns;
    summary.powerNs[static_cast<std::size_t>(columns.power[row])] += ns;
  }
  return summary;
}

}  // namespace highwater::analysis
