#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/findings/findings.h"
#include "core/definition_table.h"

namespace highwater::analysis {

/// Advice on what checks the arguments of a torch.distributions.Distribution.
inline constexpr std::string_view kUncheckedAdvice =
    "leave out the checks of torch.distributions, each of which reads a value: give validate_args="
    "False, or call torch.distributions.Distribution.set_default_validate_args(False) once, before "
    "the training";

/// Advice on an op that takes a number and is given a tensor.
inline constexpr std::string_view kNumberAdvice =
    "the op takes a number there (alpha=, value=), and reads it from the tensor that it is given: "
    "multiply by the tensor in its place, a - b * scale for a.sub(b, alpha=scale), which stays on "
    "the device";

/// Fewer bytes that go to the device between a forward and its backward are no finding: labels.
inline constexpr std::uint64_t kLateCopyBytes = 1024 * 1024;

/// All waits at one line of the training, as far as they tell what the line is for.
struct WaitCase {
  std::string_view op;
  events::SyncKind kind = events::SyncKind::None;
  events::Phase phase = events::Phase::None;
  /// Outside of phases: the last phase before it in its step. None: there was none.
  events::Phase after = events::Phase::None;
  std::uint64_t bytesEach = 0;  ///< that one wait copies
  double aStep = 0;             ///< so many waits in each step that has one
  std::uint32_t batch = 0;      ///< samples of a step; 0: not known
  bool copiedBack = false;      ///< backward copies as many bytes to the device as these waits took
  bool ownScript = false;       ///< the user's script trains, not the built-in workload
  bool allWeights = false;  ///< these waits copy as many bytes a step as the model's weights have
  CallSiteParts site;
};

/// The use of a wait for a value that is a size.
inline constexpr std::string_view kReadsSize = "a size is read";

/// What a wait is for, and what to do about it.
struct WaitUse {
  FindingKind kind = FindingKind::SyncPoint;
  /// What the host does, before the cost: "reads whether gradients are finite"; empty: the op's
  /// name says it.
  std::string_view what;
  std::string_view advice;
  bool isLog = false;          ///< values for a log or a metric, which the step does not need
  bool isOne = false;          ///< all lines of this use are one finding, as they have one cause
  bool isFineAtTimes = false;  ///< no finding where only one step in twenty waits, or fewer
};

/// Whether so many copies to the device in a step's batch assembly are those of its samples, each
/// by itself. `batch`: the samples of a step, 0: not known.
[[nodiscard]] bool areSamples(double copiesAStep, std::uint32_t batch);

/// Whether the text of a line decides something by a value: "if mask.any():".
[[nodiscard]] bool isCondition(std::string_view text);

/// Whether the text of a line gives an op a number by name that may be a tensor: "alpha=x".
[[nodiscard]] bool givesNumber(std::string_view text);

/// Whether the text of a line makes a text of tensors: print(f"loss {loss}"). False where it reads
/// values of them itself: print(loss.item()).
[[nodiscard]] bool formats(std::string_view text);

/// Returns what the waits of a line are for: the first row of a table that fits. It goes by the op,
/// its bytes, the library that calls it, the place in the step and the text of the user's line.
[[nodiscard]] WaitUse useOf(const WaitCase& wait);

}  // namespace highwater::analysis
