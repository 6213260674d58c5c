#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "probe/recorder.h"
#include "worker/training.h"

namespace highwater::worker {

/// What would become of an op on `mps`.
enum class OpFate {
  kKernel,     ///< runs there
  kFallsBack,  ///< runs on the CPU
  kFails,      ///< NotImplementedError
  kFloat64,    ///< TypeError: MPS has no float64
};

/// An op that a training step goes through, and where.
struct DryOp {
  using Place = std::pair<events::Phase, std::string>;  ///< and the module's path

  OpFate fate = OpFate::kKernel;
  std::string name;                      ///< "aten::add.Tensor"
  std::string why;                       ///< one clause
  bool always = false;                   ///< falls back though nobody allowed it
  std::map<Place, std::uint32_t> times;  ///< in one step
};

struct DryReport {
  std::uint32_t checked = 0;     ///< different ops
  std::uint32_t withKernel = 0;  ///< of these
  std::vector<DryOp> findings;   ///< ops of another fate: those that fail first
  /// Ops whose parts on `mps` the CPU does not show; sorted.
  std::vector<std::string> unseen;

  [[nodiscard]] bool fails() const {
    return !findings.empty() && findings.front().fate != OpFate::kFallsBack;
  }
};

/// True where PyTorch's MPS backend lets ops fall back: PYTORCH_ENABLE_MPS_FALLBACK is a number
/// other than 0.
[[nodiscard]] bool fallbackAllowed();

/// Runs `program` with tensors on the CPU, and asks the dispatcher about each op that it goes
/// through in a phase of a step after batch assembly, which is the host's, what it has for `mps`.
/// Where an op has a kernel there, what the CPU's kernel calls does not count. Ops on tensors that
/// the program has read back count as the device's: on the CPU nothing tells them apart.
///
/// Preconditions: a device is loaded that answers for `mps`, and `program` records its phases and
/// steps with `recorder`. What was seen in the last step counts; ops that only an earlier one had
/// count once.
[[nodiscard]] DryReport dryCheck(probe::Recorder& recorder, bool allowFallback,
                                 const std::function<void()>& program);

/// The same for two steps of a workload, the second as it would be for ever. `setup.options` and
/// `setup.device` are as for a run on `mps`.
[[nodiscard]] Result<DryReport> dryCheckWorkload(TrainingSetup setup);

/// One object for programs; `schema` 1.
[[nodiscard]] std::string dryCheckJson(const DryReport& report, const TrainingSetup& setup);

}  // namespace highwater::worker
