#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace highwater::probe {

/// What PyTorch's dispatcher does with an op whose tensors are on `mps`.
enum class MpsRow {
  kKernel,           ///< an MPS kernel
  kParts,            ///< a kernel for every backend, made of other ops: those decide
  kUnseenParts,      ///< likewise, but the CPU has a kernel of its own and does not call those ops
  kChosenByDevice,   ///< calls different ops on different devices
  kAlwaysFallsBack,  ///< runs on the CPU, whatever the environment says
  kFallback,         ///< no kernel: runs on the CPU where fallbacks are allowed, else throws
  kRefuses,          ///< always throws
};

/// Looks up in the dispatcher's table what ops do on the `mps` device that is loaded in this
/// process. Runs no op. Caches its answers and is not thread-safe.
class OpTable {
 public:
  /// Returns what the dispatcher does with the op of that name and overload on `mps`.
  [[nodiscard]] MpsRow row(const c10::OperatorName& name);

 private:
  [[nodiscard]] MpsRow read(const c10::OperatorName& name);
  /// The out= overload that a structured op's functional and in-place forms call; nullptr where
  /// there is none.
  [[nodiscard]] const c10::OperatorName* outForm(const c10::OperatorHandle& op);

  std::unordered_map<c10::OperatorName, MpsRow> rows_;
  std::unordered_map<std::string, std::vector<c10::OperatorName>> overloads_;  // by base name
};

}  // namespace highwater::probe
