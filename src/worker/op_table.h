#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"

namespace highwater::worker {

/// What the dispatcher does with an op whose tensors are on `mps`.
enum class MpsRow {
  kKernel,           ///< an MPS kernel
  kParts,            ///< a kernel for every backend: what counts is the ops that it calls
  kUnseenParts,      ///< the same, but the CPU takes another way: those ops cannot be seen there
  kChosenByDevice,   ///< calls other ops on each device
  kAlwaysFallsBack,  ///< runs on the CPU, whatever the environment says
  kFallback,         ///< no kernel: PyTorch's fallback of the key
  kRefuses,          ///< a kernel that always throws, or nothing at all
};

/// Rows of the dispatcher's table for the key MPS, as OperatorHandle::dumpComputedTable() tells
/// them: the device that is loaded in this process is asked, nothing is run. Any thread may have
/// its own.
class OpTable {
 public:
  [[nodiscard]] MpsRow row(const c10::OperatorName& name);

 private:
  [[nodiscard]] MpsRow read(const c10::OperatorName& name);
  /// The op to which a structured op's functional and in-place form delegate.
  [[nodiscard]] const c10::OperatorName* outForm(const c10::OperatorHandle& op);

  std::unordered_map<c10::OperatorName, MpsRow> rows_;
  std::unordered_map<std::string, std::vector<c10::OperatorName>> overloads_;  // by base name
};

/// kUsage, with the names that are spelled most like it, where this libtorch has no op called
/// `name` ("aten::add", without an overload).
[[nodiscard]] Result<void> checkOpName(const std::string& name);

/// "aten::add" of "aten::add_".
[[nodiscard]] std::string withoutUnderscore(const std::string& name);

}  // namespace highwater::worker
