#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/device/gain_estimate.h"
#include "analysis/findings/verdict.h"
#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "analysis/tried_fix.h"
#include "core/turns.h"

namespace highwater::analysis {

/// The kinds of problems that findProblems() can report.
enum class FindingKind : std::uint8_t {
  NearLimit,         ///< driver memory is close to the limit of the system or of the allocator
  Fallback,          ///< an op runs on the CPU, and the user has not accepted that
  ChattyLogging,     ///< values are read for logging in every step
  SyncPoint,         ///< any other unplanned wait for the device
  HostBound,         ///< the device is idle because of the host: batch assembly, queueing, logging
  MemoryGrowth,      ///< current memory grows from step to step
  ShapeGrowth,       ///< driver memory grows with each new shape
  StepTimeSwings,    ///< some steps take far longer than others of the same shape
  BatchTooSmall,     ///< a larger batch takes much less time a sample
  Fragmentation,     ///< driver memory grows at known shapes, and current memory does not
  HiddenGrowth,      ///< the process grows by memory that the driver does not count
  CacheAboveLive,    ///< the driver holds far more memory than is ever in use
  SystemPressure,    ///< the system is short of memory, or swaps
  NonFiniteLoss,     ///< the loss is NaN or infinite
  Float16Unscaled,   ///< the same in a forward pass in float16 whose loss is not scaled
  RefusedDtype,      ///< the run ended because MPS has no such dtype
  MissingOp,         ///< the run ended because MPS has no kernel for an op
  LoaderStart,       ///< starting the DataLoader's workers takes a large share of the time
  OutOfMemory,       ///< the run ended because memory was used up
  Hung,              ///< the run stood still until it was ended
  Recovered,         ///< memory ran out, and the training went on: a note
  ThermalState,      ///< the machine was so hot that the system slows it down
  LowPowerMode,      ///< the machine saved energy: a note
  Evaluation,        ///< evaluations take a large share of the time
  OutsideSteps,      ///< so does what lies between the steps, or after them
  DeviceUnused,      ///< a script trained without a tensor on the device
  MemorySawtooth,    ///< current memory grows step by step and is freed again, as at an epoch's end
  MemoryJumps,       ///< current memory grows at some steps, and not in between
  DriverGrowth,      ///< driver memory grows though the batch keeps its shape, current does not
  AutocastOff,       ///< a script asks for autocast on a device that is not there, and gets none
  AnomalyDetection,  ///< backward checks every gradient, as torch.autograd's anomaly detection is
                     ///< on
  UnusedGradients,   ///< backward computes gradients that no optimizer uses
  Padding,           ///< columns of the batches are padding, in all of their rows or in many
  MovedBack,         ///< each step moves the same tensors to the device and back, as a model's
  FrozenModel,       ///< a model that no optimizer trains takes much of the device's work
  RepeatedWeights,   ///< parametrizations compute the same weights many times in a step
  RepeatedBackward,  ///< backward goes through the same part of a graph more than once in a step
  SlowingSteps,      ///< steps take longer and longer, and memory does not grow
};
/// The number of kinds of findings.
inline constexpr std::size_t kFindingKinds = 38;
/// The name of a kind of finding in JSON and in scenarios: "near_limit".
[[nodiscard]] std::string_view findingKey(FindingKind kind);
/// Where the advice on a kind of finding comes from: title and address of a page; empty if it is
/// Highwater's own.
[[nodiscard]] std::string_view findingSource(FindingKind kind);

/// A problem of a run: what it costs, and what to do about it.
struct Finding {
  FindingKind kind = FindingKind::SyncPoint;
  std::string title;     ///< what is wrong, in one line, without the gain
  std::string evidence;  ///< where and how often
  std::string advice;    ///< what to do. For a fallback it ends in "accept it"; a caller adds how
  /// The rank of the finding, 0 to 1: for time the share of a step that fixing it gains, or that is
  /// waited for if the gain is unknown; for memory the share of the limit that is in use or, for
  /// growth, would be in use after kGrowthHorizonSteps.
  double weight = 0;
  /// How long the host waits, or the device where the host is too slow: in ms a step. A wait is not
  /// what fixing it gains.
  std::optional<double> waitsMs;
  /// What fixing it gains, in ms a step: see GainEstimator. At most waitsMs where that was
  /// measured; of an estimated wait only `low` and `estimate` are. Empty where it is unknown.
  std::optional<Gain> gainMs;
  std::string gain;          ///< the same in words: gainText(); empty where it is unknown
  bool canBeTried = false;   ///< in this run: whyNotTried() has no reason
  bool readsForLog = false;  ///< waits for values that the step does not need, as far as is known
  bool readsSize = false;    ///< waits for the size of something, as of a selection
  std::optional<TriedFix> tried;  ///< what the fix gained where it was tried; then gainMs is that
  bool assumed = false;  ///< half of the time is assumed, not measured: it weighs half of its gain
  bool vague = false;    ///< no line or event of its own: what is measured comes before it
  bool withinNoise = false;         ///< step times vary by chance by more than the gain
  bool rare = false;                ///< in less than half of the steps
  std::optional<double> costBytes;  ///< per step
  bool estimate = false;            ///< waitsMs or costBytes is not measured directly
  std::uint32_t firstStep = 0, lastStep = 0;
  std::uint64_t count = 0;            ///< events; 0 if the finding is not about events
  std::vector<std::string> ops;       ///< most expensive first
  std::string where;                  ///< phase, module and call site of the most expensive one
  std::string line;                   ///< the line of code to change: "train.py:41"; may be unknown
  std::vector<CallSiteId> callSites;  ///< of waits and fallbacks: all that the finding counts
  /// The longest of the events that the finding counts, as an index of LiveStore::fallbacks() for a
  /// fallback, else of LiveStore::syncPoints(). Empty if the finding is not about events.
  std::optional<std::uint32_t> longest;
};

/// An op that falls back to the CPU with the user's consent.
struct AcceptedFallback {
  std::string op;
  std::string reason;  ///< the user's, may be empty
  std::uint64_t count = 0;
  double costMs = 0;  ///< per step
};

/// The result of findProblems(): the problems of a run, and the fallbacks that the user has
/// accepted.
struct Findings {
  /// Steps that were analyzed: all but the first, which compiles and allocates. 0 if there are too
  /// few.
  std::uint64_t steps = 0;
  /// The probe recorded only steps and memory (ProbeLevel Off): waits and fallbacks are unknown.
  bool unobserved = false;
  bool ofRange = false;  ///< of the steps of a range, not of the whole run
  /// By how much the median step time of as many steps varies by chance, in ms: half the width of
  /// its 95 % interval, 1.57 IQR / sqrt(n) (McGill, Tukey and Larsen, Variations of Box Plots,
  /// 1978), and at least kLeastLostShare of it. Only steps of the same batch shape are compared.
  double noiseMs = 0;
  /// What fixing all findings about the host's waits together gains, in ms a step. Less than the
  /// sum of their gains, if each would only move the wait to the next. At most what they wait for
  /// together. Empty where it is unknown.
  std::optional<Gain> gainOfWaitsMs;
  /// The same of all findings about time.
  std::optional<Gain> gainOfAllMs;
  Verdict verdict;
  /// Removing the host's waits saves hardly anything, as the verdict says: the device works
  /// meanwhile.
  bool waitsCostLittle = false;
  /// First those whose gain is within the noise last, then the largest weight first.
  std::vector<Finding> found;
  std::vector<AcceptedFallback> accepted;
  std::vector<TriedFix> tried;  ///< what was tried and is not told by a finding: knobs, say

  /// How many of the findings say what their fix gains.
  [[nodiscard]] std::size_t priced() const;

  /// Whether driver memory grows while the settings stay, by what was found: then a prediction of
  /// its peak holds for the steps so far only.
  [[nodiscard]] bool driverMemoryGrows() const;
};

// The thresholds of the rules, each with its reason.

/// The fewest steps that give findings, not counting the first step, which differs from the rest.
inline constexpr std::size_t kLeastSteps = 5;
/// The least share of a step, 0 to 1, that lost time must have to be a finding: steps vary by as
/// much anyway.
inline constexpr double kLeastLostShare = 0.01;
/// The share of steps, 0 to 1, from which on the loss counts as read in every step.
inline constexpr double kEveryStepShare = 0.9;
/// The least share of the steps' mean time, 0 to 1, that a wait in few steps must gain to be a
/// finding: a value that is read at times, as the advice says, is none.
inline constexpr double kLeastRareShare = 0.05;
/// The fewest single values that one part of a step reads one by one to count as a loop: fewer are
/// told one by one.
inline constexpr std::size_t kLeastLoopReads = 8;
/// The least share of a step, 0 to 1, that the device must be idle for one reason to make a
/// finding. Below a fifth, a loader on another thread gains little.
inline constexpr double kLeastIdleShare = 0.2;
/// Up to this share of a step, 0 to 1, the host hardly waits for the device.
inline constexpr double kHardlyWaits = 0.1;
/// The least share of the time, 0 to 1, that starting DataLoader workers must take to be a finding:
/// less is within what epochs differ by.
inline constexpr double kLeastLoaderStartShare = 0.1;
/// The least step time, in ms, for findings about idle time. In shorter steps a near-zero wait
/// (kNearZeroWaitNs) may be more than a tenth of the step, so whether the device kept up with the
/// host is unknown.
inline constexpr double kLeastIdleStepMs = 5;
/// The least growth of allocated memory, in bytes per step, that is a finding: 16 MiB in a thousand
/// steps.
inline constexpr double kLeastGrowthBytes = 16.0 * 1024;
/// The least height of a sawtooth, as a share of the highest current, that is a finding: without
/// less than a fifth no larger batch would fit.
inline constexpr double kLeastToothShare = 0.2;
/// The least growth of driver memory, in bytes per new shape of the batch, that is a finding. A
/// compiled graph of one op takes some ten KiB, and a step has hundreds of ops.
inline constexpr double kLeastShapeGrowthBytes = 256.0 * 1024;
/// The fewest shapes of the batch that show a trend of driver memory.
inline constexpr std::size_t kLeastShapes = 8;
/// The share of the memory limit, 0 to 1, from which on driver memory counts as close to it: one
/// more shape or another application may then exceed it.
inline constexpr double kNearLimitShare = 0.9;
/// How many times as long as usual a step takes that counts as slow: as the median of its shape or,
/// where few steps have its shape, of those with larger batches.
inline constexpr double kSlowStepFactor = 2;
/// The fewest slow steps, and their least share of all, that are a finding; fewer are chance,
/// unless they lose much of all time at one line.
inline constexpr std::size_t kLeastSlowSteps = 3;
inline constexpr double kLeastSlowShare = 0.05;
/// The share of the time lost in slow steps, 0 to 1, that one cause must explain to be named.
inline constexpr double kLeastExplainedShare = 0.5;
/// How many times as many samples a second a larger batch must train to be a finding: a device that
/// is full gains little more than the noise.
inline constexpr double kLeastBatchSpeedup = 1.25;
/// The fewest shapes of the batch that count as varying, for fragmentation.
inline constexpr std::size_t kLeastVaryingShapes = 3;
/// The least growth of driver memory, in bytes per step, that counts as fragmentation.
inline constexpr double kLeastFragmentationBytes = 256.0 * 1024;
/// The least growth of driver memory at a constant shape, in bytes per step, that is a finding: the
/// graphs of a few ops. A thousand steps take 64 MiB.
inline constexpr double kLeastDriverGrowthBytes = 64.0 * 1024;
/// The least growth of the process beside the driver, in bytes per step, that is a finding: a
/// footprint is sampled, and the host's own allocator keeps what it has had.
inline constexpr double kLeastHiddenGrowthBytes = 256.0 * 1024;
/// The fewest readings of the footprint that show a trend in both halves, and the least growth over
/// all steps, in bytes: the libraries and caches of a process that starts take some tens of MiB.
inline constexpr std::size_t kLeastFootprints = 6;
inline constexpr double kLeastHiddenBytes = 32.0 * 1024 * 1024;
/// How many times the live memory the driver must hold, and the least share of recommended max that
/// emptying the cache must free, to be a finding: some cache is what makes allocations fast.
inline constexpr double kLeastCacheFactor = 2;
inline constexpr double kLeastCacheShare = 0.1;
/// How many times as much memory as the size of their batch explains must the last steps hold,
/// against the first ones, where no two steps have the same shape: less may be batches that get
/// larger.
inline constexpr double kLeastGrowthPastSize = 1.25;
/// The share of the steps' time, 0 to 1, that a script's own work in one place of them must take to
/// be a finding where it is unknown whether the device waits for it.
inline constexpr double kLeastOwnWorkShare = 0.4;
/// The share of the time, 0 to 1, with memory pressure that is a finding.
inline constexpr double kLeastPressureShare = 0.1;
/// The share of the machine's memory, 0 to 1, that must go to swap during the steps to be a
/// finding.
inline constexpr double kLeastSwapShare = 0.05;
/// The share of the steps' time, 0 to 1, that the machine must be hot or save energy to be a
/// finding: less moves no median.
inline constexpr double kLeastSlowedShare = 0.1;
/// The least share of the time since the first step, 0 to 1, and the least time, in ns, that
/// evaluations or what lies outside of steps must take to be a finding: less is not what a user
/// waits for. What comes back with each step is a cost of the steps: half of the share is enough,
/// and no time is asked.
inline constexpr double kLeastRegionShare = 0.2;
inline constexpr std::int64_t kLeastRegionNs = 100'000'000;
/// The number of steps over which growing memory is extrapolated for the weight of a finding: an
/// hour at four steps a second. What grows without end stops a training, which other losses do not.
inline constexpr double kGrowthHorizonSteps = 14'400;

/// Where a try of the finding leaves out waits: all places that the finding counts, and what else
/// waits at its line, so that the line does not wait at all. In ascending order.
[[nodiscard]] std::vector<CallSiteId> triedSitesOf(const LiveStore& store, const Finding& finding);
/// Whether a finding is about the host's waits for values.
[[nodiscard]] bool isOfWaits(const Finding& finding);
/// The waits at a line of the script as a finding to try, whether they are one or not;
/// std::nullopt: nothing waited there.
[[nodiscard]] std::optional<Finding> waitsAt(const LiveStore& store, const std::string& line);
/// Whether a try of the finding gives old values to the script: not where it only waits, as in
/// synchronize().
[[nodiscard]] bool readsWhereTried(const LiveStore& store, const Finding& finding);
/// Why a script cannot be tried without the waits of a finding (TryBlock), for people; empty: it
/// can.
[[nodiscard]] std::string whyNotTried(const LiveStore& store, const Finding& finding);

/// Writes a gain as text: "about 7.02 ms a step (6.40 to 7.50)"; only the bounds if it may be
/// nothing: "0 to 1.02 ms a step".
[[nodiscard]] std::string gainText(const Gain& gain);

/// True if a script has trained, and no tensor was ever on the device.
[[nodiscard]] bool leftDeviceUnused(const LiveStore& store);

/// Applies all rules to the run so far and returns what they find. That the run ended out of
/// memory, by a dtype that MPS refuses, or hung comes first, and is found without any step, as are
/// recoveries. The other rules find nothing until the run has kLeastSteps steps after its first.
/// With a range only the steps that lie wholly in it count, and there must be kLeastSteps of them.
///
/// The cost grows with the length of the run.
[[nodiscard]] Findings findProblems(const LiveStore& store,
                                    std::optional<TimeRange> range = std::nullopt);

/// The same in turns, of at most one rule. The steps that count are those of the first turn. If the
/// store grows between turns, each rule sees what has arrived before it; if the store gets another
/// run, the check must not go on.
[[nodiscard]] Turns<Findings> findProblemsInTurns(const LiveStore& store,
                                                  std::optional<TimeRange> range = std::nullopt);

}  // namespace highwater::analysis
