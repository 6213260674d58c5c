#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/messages.h"
#include "core/mps_heaps.h"
#include "core/result.h"
#include "tuning/free_matching.h"
#include "tuning/request_trace.h"
#include "tuning/tensor_budget.h"

namespace highwater::tuning {

/// The peaks of a setting as played through the heap rules, in bytes.
struct PlayedPeak {
  std::uint64_t current = 0, driver = 0;
  bool refused = false;  ///< a request exceeded the high watermark: out of memory
};

/// The allocations and frees of a training step at any setting, from traces at two settings or
/// more. Each request is constant, or grows with the batch, with the tokens, or with tokens ×
/// length: the form is chosen that explains its sizes at all traced settings, and of a size only
/// the part that agrees, since a reused block counts whole.
class RequestModel {
 public:
  /// Combines traces. Fails with kFailed if they are of fewer than two settings, or if the ops that
  /// allocate differ between them.
  [[nodiscard]] static Result<RequestModel> make(std::span<const StepTrace> traces);

  /// Whether the traced settings tell how requests grow towards this one: whether batches and
  /// lengths differ enough between them.
  [[nodiscard]] bool canPlay(Setting setting) const;
  /// Plays the traced steps at a setting, in a process that trains at nothing else. Takes about a
  /// millisecond.
  [[nodiscard]] PlayedPeak play(Setting setting, const MemoryLimits& limits) const;
  /// Plays the settings in `history` one after the other, and returns the heaps with all their
  /// blocks in the cache. Settings that a request was refused at count as far as they came.
  [[nodiscard]] MpsHeaps heapsAfter(std::span<const Setting> history,
                                    const MemoryLimits& limits) const;
  /// Plays the traced steps at a setting in a process that holds `heaps`, of heapsAfter().
  [[nodiscard]] PlayedPeak playIn(MpsHeaps heaps, Setting setting) const;

  /// Whether all traces begin with the first step of a run: then nothing from before is unknown.
  [[nodiscard]] bool fromStart() const { return fromStart_; }
  /// The settings that were traced.
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  /// The number of requests that are played.
  [[nodiscard]] std::size_t requests() const { return requests_.size(); }

 private:
  enum class Growth : std::uint8_t { kTokens, kScores, kBatch, kConstant };
  static constexpr std::array<Growth, 4> kGrowths{Growth::kConstant, Growth::kTokens,
                                                  Growth::kScores, Growth::kBatch};
  struct Request {
    Growth growth = Growth::kConstant;
    double factor = 0;                     ///< bytes per unit of growth
    std::vector<std::size_t> freedBefore;  ///< requests whose blocks are freed before this one
  };
  static RequestModel combined(const std::vector<StepTrace>& traces, std::size_t largest,
                               std::size_t steps, bool fromStart, Guess guess, bool keepsGradients,
                               std::uint64_t smallestChecked,
                               FreeMatching::Compositions& compositions);
  bool playThrough(MpsHeaps& plan, Setting setting, std::vector<MpsHeaps::Block>& blocks) const;
  [[nodiscard]] double errorOf(const std::vector<StepTrace>& traces, std::size_t steps) const;
  using Sizes = std::vector<std::uint64_t>;  ///< of one request, at each traced setting

  static double units(Growth growth, Setting setting);
  static std::vector<double> weightsOf(const std::vector<Request>& requests, std::size_t firstStep,
                                       const std::vector<events::Phase>& phases,
                                       std::uint64_t total);
  [[nodiscard]] Request sized(const Sizes& sizes) const;
  [[nodiscard]] std::uint64_t bytesAt(const Request& request, Setting setting) const;

  std::vector<Setting> settings_;
  std::vector<Request> requests_;  ///< the model's own blocks first
  std::size_t base_ = 0;           ///< how many of them are blocks from before the first step
  std::size_t firstSettled_ = 0;   ///< the first request whose peak counts as a settled step's
  bool fromStart_ = false;
};

}  // namespace highwater::tuning
