#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/machine_summary.h"
#include "analysis/time_range.h"

namespace highwater::analysis {

/// All planned or all unplanned sync points of one kind, or all fallbacks, of one op at one place
/// within a range.
struct OpTotal {
  std::string op;
  std::string where;  ///< LiveStore::placeText(): "loss read", "train.py:12, forward"
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t inStepsNs = 0;  ///< the part within the counted steps, without evaluations
  std::uint64_t bytes = 0;     ///< to the CPU and back
  bool deliberate = false;     ///< only for sync points: they are planned
  std::uint64_t unplannedCount =
      0;  ///< within steps: sync points that isUnplanned(); all fallbacks
  std::int64_t unplannedNs = 0;
  events::SyncKind kind = events::SyncKind::None;
  CallSiteId site = kNoId;  ///< one of the call sites that `where` stands for

  /// Adds what another total counted.
  void add(const OpTotal& other);
};

/// A histogram of step durations, with bins of equal width from `lowMs` to `highMs`.
struct StepHistogram {
  /// The number of bins.
  static constexpr std::size_t kBins = 14;
  double lowMs = 0;
  double highMs = 0;
  std::array<std::uint64_t, kBins> counts{};

  bool operator==(const StepHistogram&) const = default;
};

/// Readings of the process and its machine in a range; empty where unknown.
struct SystemSummary {
  std::optional<std::uint64_t> footprintPeakBytes, availableLowBytes, swapUsedPeakBytes;
  std::array<std::uint64_t, 4> pressureSamples{};  ///< indexed by events::Pressure

  /// The highest level in the samples; Unknown if there is none.
  [[nodiscard]] events::Pressure highestPressure() const;
  /// The share (0 to 1) of `level` or higher among the samples whose level is known.
  [[nodiscard]] double shareFrom(events::Pressure level) const;
};

/// Key figures of a run or of a range of it, for the report and the Selection panel: steps,
/// throughput, memory, phases and lost time.
struct RunSummary {
  std::uint64_t steps = 0;
  std::uint32_t firstStep = 0;
  std::uint32_t lastStep = 0;
  double stepMsP50 = 0;  ///< percentiles by nearest rank; 0 without steps
  double stepMsP95 = 0;
  double stepMsMean = 0;  ///< of the steps and the time that tokensPerS counts
  /// Whether the mean says what the median does not: the host queues steps ahead, so that most are
  /// short, and some wait for all of them.
  [[nodiscard]] bool meanTells() const { return stepMsMean > 1.5 * stepMsP50; }
  double stepsMs = 0;  ///< sum of the steps' durations
  StepHistogram histogram;
  /// Tokens of the steps over their host time, without the run's first step, which compiles and
  /// allocates, and with the waits after steps for what they have queued: see rateLeavesOutFirst
  /// and rateHasDrain.
  double tokensPerS = 0;
  double drainedMs = 0;       ///< drainedNs(), which is part of the time
  bool rateHasDrain = false;  ///< it is more than 0
  /// From these steps to the end of the run the host never waits for the MPS device: it is how fast
  /// the host queues, and the device may be slower.
  bool rateIsQueued = false;
  bool rateLeavesOutFirst =
      false;  ///< false where the first step is the only one, or none of these
  std::optional<double> lossFirst, lossLast;
  std::optional<double> heldOutAccuracy;  ///< of the last evaluation, 0 to 1
  bool memoryCounted = false;             ///< memory counters were read
  std::uint64_t currentPeakBytes = 0;
  bool currentPeakExact = false;
  std::uint64_t driverPeakBytes = 0;
  std::uint64_t recommendedBytes = 0;
  std::optional<double> gpuPercentP50, gpuPercentMax;  ///< of all processes
  SystemSummary system;
  MachineSummary machine;
  // What the counted steps hold, so that no part exceeds stepsMs.
  std::array<double, 7> phaseMs{};  ///< indexed by events::Phase
  double fallbackMs = 0;
  double unplannedSyncMs = 0;
  double plannedSyncMs = 0;                    ///< waits that the training loop intends
  double outsideWaitMs = 0;                    ///< of all waits, those outside of phases
  std::vector<OpTotal> syncPoints, fallbacks;  ///< by total time, longest first
};

/// Returns the range without the steps at its ends that it cuts, so that what is counted in it
/// belongs to whole steps or to the time between steps. A range without a whole step stays as it
/// is.
[[nodiscard]] TimeRange withoutCutSteps(const LiveStore& store, const TimeRange& range);

/// Returns the finished step that contains a time, nullptr if there is none.
[[nodiscard]] const events::StepRecord* stepContaining(const LiveStore& store, std::int64_t ns);

/// Computes the key figures of a range of time: counts the steps that lie wholly in the range, and
/// the events that begin in withoutCutSteps(range). Without a range it covers the whole run.
[[nodiscard]] RunSummary summarize(const LiveStore& store,
                                   std::optional<TimeRange> range = std::nullopt);

/// The summary of a run that still grows: each update() only counts the events added since the
/// last.
class RunningSummary {
 public:
  /// Summarizes `store`, which is not owned and must outlive this object.
  explicit RunningSummary(const LiveStore* store);
  ~RunningSummary();

  /// Counts the new events and returns the summary of the whole run, the same as summarize()
  /// without a range.
  [[nodiscard]] RunSummary update();
  /// Returns the same as summarize() of the range, but for rounding, without a walk over the events
  /// in it: for a range that the user drags. Only its steps are looked at one by one.
  [[nodiscard]] RunSummary in(const TimeRange& range);
  /// Forgets all counts. Call it when the store holds another run.
  void reset();

 private:
  struct Counted;
  const LiveStore* store_;
  std::unique_ptr<Counted> counted_;
};

}  // namespace highwater::analysis
