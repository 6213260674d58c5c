#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

struct TimeRange {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
};

/// One op of the sync points or fallbacks of a range.
struct OpTotal {
  std::string op;
  std::string where;  ///< "loss read", "forward, encoder.layers.1": phase, and module where known
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t inPhasesNs = 0;  ///< of it within a phase of a step: evaluation, say, lies outside
  std::uint64_t bytes = 0;      ///< there and back
  bool deliberate = false;      ///< sync points only: all of them deliberate
  std::uint64_t unplannedCount = 0;  ///< of sync points see isUnplanned(); all fallbacks
  std::int64_t unplannedNs = 0;
  events::SyncKind kind = events::SyncKind::None;
};

/// How the durations of steps spread: bins of equal width from `lowMs` to `highMs`.
struct StepHistogram {
  static constexpr std::size_t kBins = 14;
  double lowMs = 0;
  double highMs = 0;
  std::array<std::uint64_t, kBins> counts{};

  bool operator==(const StepHistogram&) const = default;
};

/// The process and the machine around it, from the samples of a range.
struct SystemSummary {
  std::optional<std::uint64_t> footprintPeakBytes, availableLowBytes, swapUsedPeakBytes;
  std::array<std::uint64_t, 4> pressureSamples{};  ///< by events::Pressure

  /// The highest level that was seen; Unknown where none was.
  [[nodiscard]] events::Pressure highestPressure() const;
  /// The share (0..1) of the samples with a level that were of `level` or a higher one.
  [[nodiscard]] double shareFrom(events::Pressure level) const;
};

/// A range of a run in numbers: what the report prints and the side panel shows.
struct RunSummary {
  std::uint64_t steps = 0;
  std::uint32_t firstStep = 0;
  std::uint32_t lastStep = 0;
  double stepMsP50 = 0;  ///< percentiles by nearest rank; 0 where there is no step
  double stepMsP95 = 0;
  double stepsMs = 0;  ///< the durations of the steps together
  StepHistogram histogram;
  double tokensPerS = 0;  ///< tokens of the steps over the sum of their durations
  std::optional<double> lossFirst, lossLast;
  std::optional<double> heldOutAccuracy;  ///< of the last evaluation, 0..1
  bool memoryCounted = false;             ///< the device has counters, and something was read
  std::uint64_t currentPeakBytes = 0;
  bool currentPeakExact = false;
  std::uint64_t driverPeakBytes = 0;
  std::uint64_t recommendedBytes = 0;
  std::optional<double> gpuPercentP50, gpuPercentMax;  ///< of all processes; where it is known
  SystemSummary system;
  std::array<double, 7> phaseMs{};  ///< by events::Phase
  double fallbackMs = 0;
  double unplannedSyncMs = 0;
  std::vector<OpTotal> syncPoints, fallbacks;  ///< by total time, longest first
};

/// Counts the steps that lie in the range (all of them without one), and what happened in it.
[[nodiscard]] RunSummary summarize(const LiveStore& store,
                                   std::optional<TimeRange> range = std::nullopt);

/// The summary of a whole run that still grows: asking again costs what came since the last time.
class RunningSummary {
 public:
  explicit RunningSummary(const LiveStore* store);
  ~RunningSummary();

  /// As summarize() without a range.
  [[nodiscard]] RunSummary update();
  /// The store holds another run.
  void reset();

 private:
  struct Counted;
  const LiveStore* store_;
  std::unique_ptr<Counted> counted_;
};

}  // namespace highwater::analysis
