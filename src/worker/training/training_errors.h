#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <optional>
#include <string>

namespace highwater::worker {

/// The exception thrown where a batch is on another device than the model.
struct ContractViolation {
  std::string message;
};

/// Returns the name of the device type as PyTorch's own error has it: "mps", not "mps:0".
[[nodiscard]] std::string deviceName(const c10::Device& device);

/// Returns true where the device has run out of memory.
[[nodiscard]] bool isOutOfMemory(const std::exception& error);

/// Returns the message where the allocator has refused a request, after which training can go on
/// with less (core/out_of_memory.h); nullopt for any other error.
[[nodiscard]] std::optional<std::string> refusedAllocation(const std::exception& error);

/// Returns true where an op has no MPS kernel and was not allowed to fall back to the CPU.
[[nodiscard]] bool isMissingOp(const std::exception& error);

/// Returns what to tell the user about an error for which isMissingOp() is true: PyTorch's message,
/// without its request for feedback, and what to do. `doctorOptions` are the options that make
/// `highwater doctor` list such ops of the workload.
[[nodiscard]] std::string missingOpText(const std::exception& error,
                                        const std::string& doctorOptions);

/// Returns the first line of the error's message, without libtorch's C++ backtrace.
[[nodiscard]] std::string firstLine(const std::exception& error);

}  // namespace highwater::worker
