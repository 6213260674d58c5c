#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "tuning/peak_fit.h"
#include "tuning/request_model.h"
#include "tuning/tensor_budget.h"

namespace highwater::tuning {

/// What the steps at one setting took. Sizes in bytes; 0 where unknown.
struct Observation {
  Setting setting;
  std::uint64_t peakCurrent = 0;  ///< of current allocated: the largest of the steps
  bool exact = false;             ///< peakCurrent is the allocator's own, not a sample
  std::uint64_t peakDriver = 0;   ///< of driver allocated: the largest sample
  /// Blocks that larger settings, evaluations or work before step 1 had left in the cache were part
  /// of peakDriver, so that it is only an upper bound of what the setting needs.
  bool driverIncludesEarlier = false;
  /// A shorter batch, as at the end of an epoch, was among the steps, and its blocks in the cache.
  bool sawShorterBatch = false;
  std::uint64_t leftAllocated = 0;  ///< current allocated at the end of a step
  std::uint64_t steps = 0;          ///< how many steps were measured
  double stepMs = 0;                ///< how long one takes; 0: unknown
};

/// Whether a batch that was trained at so many lengths will have yet another one in the next step,
/// as where texts are padded to the longest of each batch.
[[nodiscard]] constexpr bool changesLength(std::size_t lengths) {
  return lengths >= 4;
}

/// What a process that trains holds now: where it goes on from here. Sizes in bytes.
struct HeldMemory {
  /// A setting that was trained since the cache was last emptied.
  struct Trained {
    Setting setting;
    std::uint64_t peakDriver = 0;  ///< of driver allocated, since then
  };
  std::uint64_t driverNow = 0;   ///< driver allocated, with the cache; 0: unknown
  std::vector<Trained> trained;  ///< in the order in which they were first trained
};

/// How a prediction was made.
enum class Basis : std::uint8_t {
  kMeasured,  ///< steps at this setting took it
  kRequests,  ///< the allocation requests of a step, scaled and played through the heap rules
  kFit,       ///< the formula fitted to the settings that were measured
  kBound,     ///< driver without requests: current's prediction plus what heaps may add; also
              ///< what a process holds because of other settings
};
/// The basis as a word of the JSON report: "measured", "requests", "fit", "bound".
[[nodiscard]] std::string_view basisKey(Basis basis);

/// The predicted peak of a step in bytes, with bounds that contain it with 95 % confidence.
struct Prediction {
  std::uint64_t bytes = 0, lower = 0, upper = 0;
  Basis basis = Basis::kFit;

  /// For people: "about 412 MiB (398 MiB to 431 MiB)".
  [[nodiscard]] std::string text() const;
};

/// Where driver memory would lie. The order is by severity.
enum class Headroom : std::uint8_t {
  kSafe,                ///< at most the recommended maximum
  kAboveRecommended,    ///< the system may swap
  kAboveLowWatermark,   ///< PyTorch releases cached blocks, which costs time
  kAboveHighWatermark,  ///< PyTorch refuses: out of memory
};
/// For people: "safe", "above the recommended maximum".
[[nodiscard]] std::string_view headroomName(Headroom headroom);
/// Where `bytes` of driver memory lie. A watermark ratio of 0 disables it.
[[nodiscard]] Headroom headroomOf(std::uint64_t bytes, const MemoryLimits& limits);

/// How far a model can be trusted, and what would improve it.
struct Confidence {
  std::size_t settings = 0;         ///< that were measured
  bool extrapolatesBatch = false;   ///< two settings or more differ in their tokens
  bool fromRequests = false;        ///< requests are known, so that heaps are played, not guessed
  bool fromStart = false;           ///< and all of them, as they are those of a run's first steps
  bool extrapolatesLength = false;  ///< of three settings or more, the lengths differ as well
  /// The largest relative error of current's peak: of the played ones; else of the predictions for
  /// each setting from all others, or NaN with fewer than three settings.
  double error = 0;
  std::string text;  ///< a sentence for people, with what to measure next
};

/// What else is known of a run, for the advice which setting to measure next.
struct RunBounds {
  std::vector<Setting> outOfMemory = {};      ///< settings that ran out of memory
  std::uint32_t maxBatch = 0, maxLength = 0;  ///< that the run takes; 0: unknown
  std::uint32_t epochSamples = 0;             ///< RunDescription::epochSamples
};

/// The part of the recommended maximum that a safe setting leaves free, unless the user sets it.
inline constexpr double kDefaultReserve = 0.1;

/// Predicts the peak memory of a training step at any setting from those that were measured.
/// Predicting takes microseconds, or 0.2 ms where some 800 requests are played: cheap enough for
/// each move of a slider. Immutable; any thread may read it.
///
/// Driver memory depends on the past, because blocks that no longer fit stay in the cache. A fitted
/// model predicts what a fresh process would take at a setting; goingOn() makes one for the process
/// that holds a cache.
class MemoryModel {
 public:
  /// Fits a model. `knownFixed` is what weights and optimizer are known to take, in bytes.
  /// `requests` is used where it can tell, provided that it explains the observations. Fails with
  /// kFailed if no observation has a peak, as on the CPU; the message says so.
  [[nodiscard]] static Result<MemoryModel> fit(std::span<const Observation> observations,
                                               const MemoryLimits& limits,
                                               std::uint64_t knownFixed = 0,
                                               std::optional<RequestModel> requests = std::nullopt,
                                               RunBounds bounds = {});

  /// The model of a process that goes on with what it holds now, instead of a fresh one. Where the
  /// requests of a step are known, the settings that it was trained at are played first. Without
  /// steps and memory in `held` the predictions are those of a fresh process. Takes 0.1 ms for each
  /// setting that is played, of which there are 32 at most.
  [[nodiscard]] MemoryModel goingOn(HeldMemory held) const;
  /// What the process of goingOn() holds; std::nullopt for a fresh process.
  [[nodiscard]] const std::optional<HeldMemory>& held() const { return held_; }
  /// The peak of driver allocated in a fresh process, also if this model is one of goingOn().
  [[nodiscard]] Prediction driverAfresh(Setting setting) const;

  /// The peak of current allocated.
  [[nodiscard]] Prediction current(Setting setting) const;
  /// The peak of driver allocated: in a fresh process or, of goingOn(), in the one that goes on.
  /// The latter is at least what is held now, and what was measured at no larger batch and length
  /// since the cache was emptied.
  [[nodiscard]] Prediction driver(Setting setting) const;
  /// Where the predicted driver memory lies.
  [[nodiscard]] Headroom headroom(Setting setting) const;
  /// A warning for the sliders: what the setting would take and where that lies, in one sentence.
  [[nodiscard]] std::string sentence(Setting setting) const;

  /// The largest batch for a length whose driver memory stays under recommended × (1 - reserve),
  /// by the upper 95 % bound or because a larger setting was measured under that limit. No setting
  /// is safe that is as large as one that ran out of memory. std::nullopt if not even a batch of 1
  /// is safe, or if the recommended maximum is unknown.
  [[nodiscard]] std::optional<std::uint32_t> largestSafeBatch(
      std::uint32_t length, std::uint32_t most, double reserve = kDefaultReserve) const;
  /// The longest length for a batch, likewise.
  [[nodiscard]] std::optional<std::uint32_t> longestSafeLength(
      std::uint32_t batch, std::uint32_t most, double reserve = kDefaultReserve) const;
  /// Recommended × (1 - reserve) in bytes, but no more than the high watermark; 0 if unknown.
  [[nodiscard]] std::uint64_t safeBytes(double reserve = kDefaultReserve) const;

  /// The batch with which an epoch ends, if it is a shorter one; else 0.
  [[nodiscard]] std::uint32_t shorterBatch(Setting setting) const;

  [[nodiscard]] const Confidence& confidence() const { return confidence_; }
  [[nodiscard]] const std::vector<Observation>& observations() const { return observations_; }
  [[nodiscard]] const MemoryLimits& limits() const { return limits_; }
  /// What does not depend on the setting, in bytes: weights, gradients, optimizer state.
  [[nodiscard]] Prediction fixedPart() const;
  /// The fitted formula of current's peak.
  [[nodiscard]] const PeakFit& formula() const { return fit_; }

 private:
  explicit MemoryModel(PeakFit fit) : fit_(std::move(fit)) {}
  [[nodiscard]] const Observation* observed(Setting setting) const;
  [[nodiscard]] Range driverBound(Setting setting) const;
  void useRequests(RequestModel requests);
  [[nodiscard]] bool canPlay(Setting setting) const {
    return requests_ && requests_->canPlay(setting);
  }
  [[nodiscard]] double playedMargin(Setting setting) const;
  [[nodiscard]] double unplayed(double played) const;
  [[nodiscard]] double calibrated(double played) const;
  [[nodiscard]] Range playedDriver(Setting setting, const MpsHeaps* held) const;
  [[nodiscard]] Prediction driverFromHere(Setting setting) const;
  [[nodiscard]] double leastDriver(Setting setting, bool withShorterBatches) const;
  [[nodiscard]] double addedByShorterBatch(Setting setting) const;
  void judge(double atLeastFixed);
  [[nodiscard]] std::string advice(const std::vector<Setting>& candidates) const;
  [[nodiscard]] bool mayBeTried(Setting setting) const;
  [[nodiscard]] bool ranOutOfMemory(Setting setting) const;
  [[nodiscard]] double mostBelow(Setting setting, std::uint64_t Observation::*peak) const;
  [[nodiscard]] bool isBelowMeasured(Setting setting, std::uint64_t limit) const;
  template <typename SettingOf>
  [[nodiscard]] std::optional<std::uint32_t> largestSafe(std::uint32_t most, double reserve,
                                                         SettingOf&& settingOf) const;

  std::vector<Observation> observations_;  ///< of different settings, by tokens
  MemoryLimits limits_;
  RunBounds bounds_;
  PeakFit fit_;
  std::optional<RequestModel> requests_;
  std::optional<HeldMemory> held_;
  std::shared_ptr<const MpsHeaps> heldHeaps_;  ///< of goingOn(), where the requests are known
  double heldBeside_ = 0;  ///< what is held beyond heldHeaps_, in bytes; may be negative
  /// The largest played peak of current at a measured setting, and what was measured there.
  double mostPlayed_ = 0, measuredAtMost_ = 0;
  double growth_ = 1;           ///< of measured peaks, for each byte that played ones grew by
  double unplayedGrowth_ = 0;   ///< what of growth_ is beyond 1 and beyond noise
  double playedError_ = 0;      ///< largest relative error of a played peak of current
  double playedDriverOff_ = 0;  ///< largest distance of a played peak of driver, in bytes
  Confidence confidence_;
};

}  // namespace highwater::tuning
