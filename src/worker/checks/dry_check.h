#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "probe/stream/recorder.h"
#include "worker/training/training.h"

namespace highwater::worker {

/// What happens to an op when its tensors are on the device `mps`.
enum class OpFate {
  kKernel,     ///< it has an MPS kernel
  kFallsBack,  ///< it runs on the CPU
  kFails,      ///< it throws NotImplementedError
  kFloat64,    ///< it throws TypeError: MPS has no float64
};

/// An op that a training step calls, what happens to it on `mps`, and where the step calls it.
struct DryOp {
  using Place = std::pair<events::Phase, std::string>;  ///< phase and module path

  OpFate fate = OpFate::kKernel;
  std::string name;                      ///< "aten::add.Tensor"
  std::string why;                       ///< one clause
  bool always = false;                   ///< falls back even where fallbacks are not allowed
  std::map<Place, std::uint32_t> times;  ///< calls in a step
};

/// The result of a dry check: what would happen on `mps` to the ops of a training program.
struct DryReport {
  std::uint32_t checked = 0;     ///< number of different ops
  std::uint32_t withKernel = 0;  ///< how many of them have an MPS kernel
  std::vector<DryOp> findings;   ///< the other ops, those that fail first
  /// Ops that call other ops on `mps` than on the CPU, so that those are not known; sorted.
  std::vector<std::string> unseen;

  /// Returns true where an op would throw on `mps`.
  [[nodiscard]] bool fails() const {
    return !findings.empty() && findings.front().fate != OpFate::kFallsBack;
  }
};

/// Returns whether PyTorch lets ops without an MPS kernel run on the CPU:
/// PYTORCH_ENABLE_MPS_FALLBACK is a number other than 0.
[[nodiscard]] bool fallbackAllowed();

/// Runs `program` with tensors on the CPU and looks up in the dispatcher what each op would do on
/// `mps`. `allowFallback` says whether ops without an MPS kernel run on the CPU there; otherwise
/// they count as failing. Only the phases from the forward pass on count: in the earlier ones the
/// host prepares the batch. Ops called by an op that has an MPS kernel do not count. Ops on tensors
/// that the program has read back count too, because on the CPU they look like all others.
///
/// Preconditions: an `mps` device is loaded, real or simulated, and `program` records its phases
/// and steps with `recorder`. The counts are those of the last step that called the op. Exceptions
/// of `program` pass through.
[[nodiscard]] DryReport dryCheck(probe::Recorder& recorder, bool allowFallback,
                                 const std::function<void()>& program);

/// Runs dryCheck() on two training steps of a workload; the second stands for all later ones.
/// `setup` is that of a run on `mps`. Returns kFailed where the steps do not run on the CPU either,
/// and the errors of Training::make().
[[nodiscard]] Result<DryReport> dryCheckWorkload(TrainingSetup setup);

/// Returns the report as a JSON object, with `schema` 1.
[[nodiscard]] nlohmann::ordered_json dryCheckJson(const DryReport& report,
                                                  const TrainingSetup& setup);

}  // namespace highwater::worker
