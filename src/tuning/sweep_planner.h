#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "tuning/memory_model.h"
#include "tuning/sweep.h"

namespace highwater::tuning {

/// What a sweep may try.
struct SweepOptions {
  std::uint32_t smallestBatch = 1, largestBatch = 0;
  std::uint32_t batchMultiple = 1;              ///< batches are multiples of it
  std::vector<std::uint32_t> lengths = {1};     ///< {1}: inputs without a length
  std::optional<Setting> start = std::nullopt;  ///< measured first; default: the smallest
  double reserve = kDefaultReserve;             ///< part of the recommended maximum to leave free
  /// How many settings are measured at most. Those before the first that fits do not count.
  std::size_t mostSettings = 8;
  /// Seconds that the steps of a setting may take; 0: any. Settings that would take longer, judging
  /// by the steps so far, are left out.
  double longestSettingS = 0;
  std::uint32_t stepsPerSetting = 12;  ///< with the warm-up
  bool onlyLargest = false;            ///< find the largest batch only, not the best throughput
  bool hasMemory = true;               ///< false for the CPU: only throughput is compared
  std::string rateUnit = "tokens/s";   ///< of the throughput
  std::uint64_t knownFixed = 0;        ///< bytes of weights, gradients and optimizer state
  std::uint32_t epochSamples = 0;      ///< RunDescription::epochSamples
};

/// Decides which settings a sweep measures: pure logic, without clock or device. Each next setting
/// is the one that teaches most among those whose upper 95 % bound of driver memory stays under the
/// limit: towards the largest batch of each length and, unless only that is wanted, between the
/// measured batches, where batch and throughput differ most. If the first setting does not fit,
/// ever smaller ones are measured until one does; their bounds are unknown. No setting has more
/// than 4 times the tokens of those that were measured before it, or 16 times once the requests are
/// known of two that begin with the run, or of three; only the smallest batch of a length may, if
/// its bound is under the limit. Throughput is compared within one length. A machine gets slower
/// and faster meanwhile, so at the end the fastest setting and two that are nearly as fast, smaller
/// ones first, are measured twice more, in turns, and only these are compared. The caller empties
/// the cache before each setting, drops the warm-up, and may stop at any time.
class SweepPlanner {
 public:
  /// Fails with kUsage if the options leave no setting, and with kFailed if the limit is below what
  /// the model takes at any setting; the message says how much weights and optimizer need.
  [[nodiscard]] static Result<SweepPlanner> make(SweepOptions options, const MemoryLimits& limits,
                                                 std::vector<Observation> known = {});

  /// The next setting, which may be one that was measured; std::nullopt if nothing is left.
  [[nodiscard]] std::optional<SweptSetting> next() const;
  /// Adds a setting that was measured, without safe and onFront, which the planner finds out.
  /// `trace` are the steps' allocations, if their ops were recorded: with those of two settings the
  /// heaps of all others are known.
  void record(SweptSetting measured, std::optional<StepTrace> trace = std::nullopt);
  [[nodiscard]] Sweep result() const;
  /// The result of a sweep that ends now, with one more measurement from which nothing else is to
  /// be learned. Takes no time.
  [[nodiscard]] Sweep endedWith(std::optional<SweptSetting> last) const;
  /// The model of what was measured; std::nullopt before the first measurement.
  [[nodiscard]] const std::optional<MemoryModel>& model() const { return model_; }
  /// Recommended × (1 - reserve) in bytes; 0 if there is no limit.
  [[nodiscard]] std::uint64_t limitBytes() const;

 private:
  SweepPlanner(SweepOptions options, const MemoryLimits& limits)
      : options_(std::move(options)), limits_(limits) {}
  void fit();
  [[nodiscard]] bool isLimited() const { return options_.hasMemory && limitBytes() > 0; }
  [[nodiscard]] bool wasMeasured(Setting setting) const;
  [[nodiscard]] bool isAbove(const SweptSetting& each) const;
  [[nodiscard]] bool wasTooLarge(Setting setting) const;
  [[nodiscard]] bool nothingFits() const;
  [[nodiscard]] std::size_t used() const;
  [[nodiscard]] double stepRatio(Setting setting) const;
  [[nodiscard]] std::uint32_t belowTooLarge(std::uint32_t batch, std::uint32_t length) const;
  [[nodiscard]] bool ranOutOfMemory(std::uint32_t length) const;
  [[nodiscard]] bool tookTooMuch(std::uint32_t length) const;
  [[nodiscard]] std::uint32_t rounded(std::uint32_t batch) const;
  [[nodiscard]] std::uint32_t roundest(double least, double most) const;
  [[nodiscard]] std::uint32_t rounder(Setting setting, double less) const;
  [[nodiscard]] bool turnsAreOver() const;
  [[nodiscard]] std::uint32_t smallest() const;
  [[nodiscard]] std::optional<std::uint32_t> largestFor(std::uint32_t length) const;
  [[nodiscard]] std::uint32_t largestMeasured(std::uint32_t length) const;
  [[nodiscard]] std::vector<Observation> fitting() const;
  [[nodiscard]] double settingSeconds(Setting setting) const;
  [[nodiscard]] double mostGrowth() const;
  [[nodiscard]] bool isTooSlow(Setting setting) const;
  [[nodiscard]] std::uint32_t fastEnough(Setting setting) const;
  [[nodiscard]] std::uint32_t nearEnough(Setting setting) const;
  [[nodiscard]] std::vector<SweptSetting> leftOut() const;
  [[nodiscard]] Sweep resultNow(bool hasEnded) const;
  [[nodiscard]] std::optional<SweptSetting> smaller() const;
  [[nodiscard]] std::optional<SweptSetting> towardsLargest() const;
  [[nodiscard]] std::optional<SweptSetting> secondTrace() const;
  [[nodiscard]] std::optional<SweptSetting> betweenMeasured() const;
  [[nodiscard]] std::optional<SweptSetting> another() const;
  /// What a measurement was to the planner.
  enum class Added : std::uint8_t { kNew, kOtherMemory, kSameMemory };
  Added add(SweptSetting measured);
  void chooseTurns();
  [[nodiscard]] bool isInTurns(Setting setting) const;
  [[nodiscard]] std::optional<SweptSetting> again() const;
  [[nodiscard]] SweptSetting stepTo(Setting setting, std::string reason) const;
  [[nodiscard]] std::vector<SweptSetting> points() const;
  [[nodiscard]] std::optional<std::uint32_t> comparedLength(
      const std::vector<SweptSetting>& points) const;

  SweepOptions options_;
  MemoryLimits limits_;
  std::vector<Observation> known_;  ///< from before the sweep
  std::vector<SweptSetting> measured_;
  std::vector<Setting> turns_;  ///< that are measured again
  bool tookTurns_ = false;      ///< all of them, to the end
  std::vector<StepTrace> traces_;
  std::optional<MemoryModel> model_;
};

}  // namespace highwater::tuning
