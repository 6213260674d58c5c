#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/account/memory_account.h"
#include "analysis/account/time_account.h"
#include "analysis/device/device_work.h"
#include "analysis/findings/findings.h"
#include "core/turns.h"

/// The rules behind findProblems(): only for the sources of this folder.
namespace highwater::analysis {

/// Tells what fixing a finding gains, and what fixing all of them gains together. This takes a
/// replay, so fixes are noted by the rules and priced after them.
class GainAccount {
 public:
  /// For the steps of the rows [firstRow, lastRow), with their median and its noise: see Findings.
  GainAccount(const LiveStore& store, std::size_t firstRow, std::size_t lastRow, double medianMs,
              double noiseMs);

  /// Adds a finding about time to those that were found, and notes its fix for settle(). The upper
  /// bound of its gain is at least `mostMs`, in ms a step: for work that the fix may save, though
  /// no part of the recording is known to go.
  void add(Findings& findings, Finding finding, Fix fix, double mostMs = 0);
  /// Adds a finding with a gain that was found otherwise, and ranks it by that.
  void add(Findings& findings, Finding finding, const Gain& gain) const;
  /// Sets the gains of the findings from their fixes, and ranks them by that. A gain is at most
  /// what the finding waits for: a fix may save more, which then is not this finding's. Without a
  /// queue the findings stay as they are. `findings` must be those to which the fixes were added,
  /// in that order.
  Turns<> settle(Findings& findings);
  /// What the host works in loops of reads, in ms a step: it is part of the findings about those.
  /// `phase`: the one that they are in, None outside of phases.
  void noteLoopWork(events::Phase phase, double ms);
  /// The same outside of phases, and in the phases that queue ops.
  [[nodiscard]] double ownLoopWorkMs() const { return ownLoopWorkMs_; }
  [[nodiscard]] double queueLoopWorkMs() const { return queueLoopWorkMs_; }
  /// See Findings::noiseMs.
  [[nodiscard]] double noiseMs() const { return noiseMs_; }
  /// What all fixes together gain; empty if there was none. Precondition: settle() is done.
  [[nodiscard]] std::optional<Gain> ofFixes() const { return ofFixes_; }
  /// The time from the first step to the end of the last, in ms a step.
  [[nodiscard]] double meanMs() const;

 private:
  /// The fix of the finding at an index of Findings::found.
  struct Noted {
    std::size_t index = 0;
    Fix fix;
    double mostMs = 0;
  };

  void price(Finding& finding, Gain gain) const;

  const LiveStore& store_;
  std::size_t firstRow_, lastRow_;
  double medianMs_, noiseMs_;
  std::vector<Noted> noted_;
  std::optional<Gain> ofFixes_;
  double ownLoopWorkMs_ = 0, queueLoopWorkMs_ = 0;
};

/// The steps that the rules for findings look at: all but the run's first, or those of them that
/// lie in a range. Every rule requires at least kLeastSteps of them.
struct CheckedSteps {
  const LiveStore& store;
  std::size_t firstRow = 0;
  std::span<const events::StepRecord> records;
  double medianMs = 0;
  GainAccount& gains;
  bool ofRange = false;  ///< some steps were left out, because they lie outside of the range

  /// The same steps after a turn: those that were added in between may have moved the records.
  [[nodiscard]] CheckedSteps renewed() const {
    const auto now = std::span(store.steps().records).subspan(firstRow, records.size());
    return {store, firstRow, now, medianMs, gains, ofRange};
  }
  /// "; step 1 is warm-up" where the run's first step was left out of a number that other
  /// numbers of the run include; else empty.
  [[nodiscard]] std::string withoutText() const;
  /// The time from the begin of the first step to the end of the last.
  [[nodiscard]] TimeRange firstToLast() const;
  /// The same if ofRange, else all time.
  [[nodiscard]] TimeRange timeRange() const;
  /// Returns the record of step `step` if the time `beginNs` lies in it, else nullptr. This tells
  /// the events of a step from those of an evaluation, which carry the number of a step but come
  /// after it.
  [[nodiscard]] const events::StepRecord* holding(std::uint32_t step, std::int64_t beginNs) const;
  /// The time of each step, in ms.
  [[nodiscard]] std::vector<double> stepMs() const;
  /// The batch size of each step times its sequence length, where it has one; 0 if unknown.
  [[nodiscard]] std::vector<double> batchSizes() const;
  /// Divides a total in ns by the number of checked steps; the result is in ms.
  [[nodiscard]] double perStepMs(std::int64_t totalNs) const;
  /// Makes a finding about all checked steps, which wait for `waitsMs` milliseconds per step. Its
  /// weight is the share of the median step until GainAccount ranks it by its gain. Texts
  /// stay empty.
  [[nodiscard]] Finding ofTime(FindingKind kind, double waitsMs) const;
  /// Makes a finding about all checked steps that costs `costBytes` bytes of memory per step. Its
  /// weight is the growth after kGrowthHorizonSteps as a share of the memory limit, 0 if the limit
  /// is unknown. Texts stay empty.
  [[nodiscard]] Finding ofGrowth(FindingKind kind, double costBytes) const;
  /// Makes a finding about all checked steps that has a rank, 0 to 1, and no cost in time or bytes.
  /// Texts stay empty.
  [[nodiscard]] Finding ofWeight(FindingKind kind, double weight) const;
};

/// Whether a finding of this kind was added.
[[nodiscard]] bool hasKind(const Findings& findings, FindingKind kind);
/// What is copied at one line of the user's code.
struct CopiedLine {
  std::string line;  ///< empty: nothing is
  std::uint64_t bytes = 0, count = 0;
};
/// The line at which most bytes are copied, of the copies of a kind that `counts` lets through.
[[nodiscard]] CopiedLine mostCopied(const LiveStore& store, events::SyncKind kind,
                                    const std::function<bool(const events::SyncPoint&)>& counts);
/// Adds a finding for each op that falls back to the CPU, and lists the accepted ones apart.
void findFallbacks(const CheckedSteps& steps, Findings& findings);
/// Adds findings for unplanned waits for the device and for values that are read for logging in
/// every step.
void findSyncPoints(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if the device is idle because the host is too slow. In turns, because it takes
/// half of the time of a check.
Turns<> findHostBound(CheckedSteps steps, Findings& findings);
/// How long the host waits outside of steps for what steps have queued, in ns: the first wait after
/// one or more of them.
[[nodiscard]] std::int64_t backlogNs(const CheckedSteps& steps, const TimeRange& range);
/// Adds findings for evaluations, for phases of the script and for what lies between or after the
/// steps, where they take kLeastRegionShare of the time since the first step.
void findTimeOutsideSteps(const CheckedSteps& steps, Findings& findings);
/// Limits the cost of what looks at each op, since the window repeats the search while ops are
/// being recorded.
inline constexpr std::size_t kMostCountedOps = 300'000;
/// Adds to a finding's evidence the region other than the steps in which a counter grew, if most of
/// its growth came there.
void addGrowingRegion(const CheckedSteps& steps, MemoryCounter counter, Finding& finding);
/// Adds a finding if starting the workers of DataLoaders takes a large share of the steps' time.
void findLoaderStart(const CheckedSteps& steps, Findings& findings);
/// For each checked step: the time in which workers of DataLoaders are started and ended, with the
/// wait for their first batches, in ns. Costs one walk over the named spans.
[[nodiscard]] std::vector<std::int64_t> loaderStartNsOf(const CheckedSteps& steps);
/// What to do where the device waits for the batches of a script: by how its DataLoader loads.
/// `loadMs`: what loading takes, in ms a step, where that is known.
[[nodiscard]] std::string loaderAdvice(const LiveStore& store,
                                       double loadMs = std::numeric_limits<double>::infinity());
/// Names in a finding the lines at which the host worked, in the spans of a range that `in` holds
/// for, if at least `leastSamples` host samples tell, and begins its advice with the first of them.
/// Returns the share of the samples, 0 to 1, at a line that can be left out as it is; 0: it is not
/// known of any.
double nameHostLines(const CheckedSteps& steps, const TimeRange& range,
                     const std::function<bool(const AccountSpan&)>& in, Finding& finding,
                     std::uint64_t leastSamples = 0);
/// Adds to a finding which line's work grows, and what to do there; begins its advice.
void nameGrowingWork(const GrowingWork& work, Finding& finding);
/// How many times as long the last quarter of the steps takes as the first, by their medians.
[[nodiscard]] double slowingOf(const CheckedSteps& steps);
/// From this on the steps become slower.
inline constexpr double kLeastSlowing = 1.5;
/// Adds a finding if the allocated memory grows from step to step, by jumps, or as a sawtooth.
void findMemoryGrowth(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if driver memory grows with each new shape of the batch.
void findShapeGrowth(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if driver memory reached kNearLimitShare of its limit: the recommended maximum,
/// or the high watermark if that is lower. Adds none if the limit is unknown.
void findNearLimit(const CheckedSteps& steps, Findings& findings);

/// For each checked step: how many shapes of the batch the data have had up to it, at least 1. A
/// shape that begins with a change of settings, as each of a sweep does, is not one of the data.
[[nodiscard]] std::vector<std::size_t> shapesOfData(const CheckedSteps& steps);

/// By how much the driver's peak grew in steps of a new shape of the batch, and in steps of a shape
/// that had been trained before.
struct DriverGrowth {
  std::size_t shapes = 0;  ///< of the data
  double newShapeBytes = 0, knownShapeBytes = 0;
};
[[nodiscard]] DriverGrowth driverGrowthOf(const CheckedSteps& steps);

/// Adds a finding if some steps take far longer than others of the same shape, and it is known
/// where.
void findStepSwings(const CheckedSteps& steps, Findings& findings);
/// Whether the host may have waited until the device had done everything, at some time from the
/// last tenth of `steps` to the end of the run: otherwise nothing tells how far behind it is.
[[nodiscard]] bool mayDrainNearEnd(const LiveStore& store,
                                   std::span<const events::StepRecord> steps);
/// Whether the steps, of which there are enough, take longer and longer, and there is no more to do
/// in them: then what each step adds to slows the next ones.
[[nodiscard]] bool becomeSlower(const CheckedSteps& steps);
/// Adds a finding if the steps take longer and longer, because the host works longer in one part of
/// them, or because the device has more and more to do. After findMemoryGrowth(), which tells of
/// steps that become slower while memory grows.
void findSlowingSteps(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if the run has trained with a larger batch, which took much less time a sample.
void findSmallBatch(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if a loss that was read is NaN or infinite: Float16Unscaled where the forward
/// pass computed in float16. A script's loss is known where its host reads the tensor that backward
/// was called on, which is then not scaled; nor are those of the built-in workload. That gradients
/// underflow to 0, the other harm of float16, cannot be seen without ops of our own on every
/// gradient, so it is no finding.
void findNonFiniteLoss(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if a script asks for autocast on a device that this machine has not.
void findAutocastOff(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if backward computes gradients of a script's model that no optimizer uses.
void findUnusedGradients(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if batches are padded beyond their longest row.
void findPadding(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if much of the device's work in a step is that of a model which is not trained,
/// in a training of several epochs.
void findFrozenModel(const CheckedSteps& steps, Findings& findings);
void findRepeatedWeights(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if backward goes through the same part of a graph more than once in each step.
void findRepeatedBackward(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if driver memory grows while shapes vary, also at shapes that were seen before,
/// and current does not grow.
void findFragmentation(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if driver memory grows while the batch keeps its shape and current does not grow.
void findDriverGrowth(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if the process's footprint grows and driver memory does not.
void findHiddenGrowth(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if the driver holds far more than is ever in use.
void findCacheAboveLive(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if the system is short of memory or swaps.
void findSystemPressure(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if the machine's thermal state was serious or critical, when macOS slows it down.
void findThermalState(const CheckedSteps& steps, Findings& findings);
/// Adds a note if the machine was in Low Power Mode.
void findLowPowerMode(const CheckedSteps& steps, Findings& findings);
/// Adds a finding if the run ended out of memory, by a dtype that MPS refuses, by an op that it
/// lacks, or hung, and one if it ran out of memory and went on. About the whole run; needs no
/// steps.
void findEnd(const LiveStore& store, Findings& findings);

/// Writes a cost in milliseconds as text: "52.1 ms a step".
[[nodiscard]] std::string costText(double ms);
/// Writes a share of 0 to 1 as text: "43 %".
[[nodiscard]] std::string percentText(double share);

}  // namespace highwater::analysis
