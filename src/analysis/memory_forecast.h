#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis/live_store.h"
#include "analysis/statistics.h"

namespace highwater::analysis {

/// The growth of a series, with the bounds of its 95 % confidence interval.
struct Growth {
  double low = 0, probable = 0, high = 0;
};

/// Estimates by how much y grows for each x: the median slope of all pairs of points, and bounds by
/// the ranks of those slopes (Sen, 1968). std::nullopt unless the growth is significant: too few
/// points, a lower bound that is not positive, or growth in one half of the points only.
[[nodiscard]] std::optional<Growth> significantGrowth(std::span<const Point> points);

/// When live memory reaches the recommended maximum if it goes on growing as it does, in seconds of
/// training from now, with bounds.
struct MemoryForecast {
  double seconds = 0, lowSeconds = 0, highSeconds = 0;
  double bytesPerStep = 0;

  /// The time for people: "about 4 min (3–6)".
  [[nodiscard]] std::string text() const;
};

/// Predicts from the peaks of the newest steps of the newest batch's shape, 200 at most.
/// std::nullopt while they do not grow significantly, for a run that has ended, for more than a
/// day, and where the recommended maximum is unknown or already reached.
[[nodiscard]] std::optional<MemoryForecast> forecastMemory(const LiveStore& store);

}  // namespace highwater::analysis
