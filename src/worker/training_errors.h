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

/// libtorch's message without the lines of C++ backtrace that follow it.
[[nodiscard]] std::string firstLine(const std::exception& error);

}  // namespace highwater::worker
