#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <string>

namespace highwater::worker {

/// The tensors do not live where the model does.
struct ContractViolation {
  std::string message;
};

/// "mps", not "mps:0": the words that PyTorch's own error has.
[[nodiscard]] std::string deviceName(const c10::Device& device);

[[nodiscard]] bool isOutOfMemory(const std::exception& error);

/// An op without an MPS kernel, which was not allowed to run on the CPU.
[[nodiscard]] bool isMissingOp(const std::exception& error);

/// What PyTorch said of such an op, without its offer to count votes for it, and what to do:
/// `asked` are the options of `highwater doctor` that ask about the workload.
[[nodiscard]] std::string missingOpText(const std::exception& error, const std::string& asked);

/// libtorch's message without the lines of C++ backtrace that follow it.
[[nodiscard]] std::string firstLine(const std::exception& error);

}  // namespace highwater::worker
