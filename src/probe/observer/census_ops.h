#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "probe/observer/op_census.h"

namespace highwater::probe {

/// Counts the work of the ops of one early step, of a few later ones and of one evaluation, on all
/// threads, from their tensors' sizes. At other times its callback is off and costs nothing.
/// Training thread only.
class CensusOps {
 public:
  /// The first step whose ops are counted: the optimizer has its state by then, and shapes have
  /// been compiled.
  static constexpr std::uint32_t kFirstStep = 3;
  /// The steps whose ops are counted: the later ones tell what grows with the steps. They and half
  /// of the number before them are primes, so that what a script does every few steps, counted from
  /// 1 or from 0, is in none of them or already in the first.
  static constexpr std::array<std::uint32_t, 5> kSteps{kFirstStep, 23, 179, 1439, 12'263};

  /// Prepares to count for `recorder`, which must outlive this.
  explicit CensusOps(Recorder& recorder);
  /// Records what has been counted.
  ~CensusOps();
  CensusOps(const CensusOps&) = delete;
  CensusOps& operator=(const CensusOps&) = delete;

  /// Has the callback count nothing more, in the child of a fork.
  static void silence() noexcept;

  /// Counts from the begin of a counted step to that of the next one. Where that may turn out to
  /// have been earlier, it counts both from there.
  void noteBorder(std::uint32_t step, StepBorder border);
  /// An evaluation begins. The first one after kFirstStep is counted, to the begin of the next
  /// step.
  void noteEvaluation();
  /// A part of an evaluation has ended: counting does, once it has counted kMostEvaluationOps.
  void noteEvaluationPart();

 private:
  void begin();
  /// `withNext`: what may have been of the next step is of this one.
  void end(bool withNext);

  Recorder& recorder_;
  std::uint64_t callback_;
  std::uint32_t counted_ = kFirstStep;  ///< the step that is counted, or will be next
  bool isCounting_ = false;
  bool isInStep_ = false;        ///< counted_ has begun
  bool isInEvaluation_ = false;  ///< the one that is counted
  bool hadEvaluation_ = false;   ///< or it was
};

}  // namespace highwater::probe
