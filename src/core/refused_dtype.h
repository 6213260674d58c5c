#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace highwater {

/// A dtype that MPS refuses, as PyTorch's error says it.
struct RefusedDtype {
  std::string dtype;             ///< its name in Python: "float64"
  bool needsNewerMacOs = false;  ///< MPS has it from a later macOS on
  std::string message;           ///< the line that says so
};

/// Finds PyTorch's message that MPS has no such dtype anywhere in `text`; nullopt without one.
/// The first one counts. Its words are those of PyTorch 2.6 to 2.15
/// (aten/src/ATen/native/mps/OperationUtils.mm, aten/src/ATen/mps/EmptyTensor.cpp).
[[nodiscard]] std::optional<RefusedDtype> refusedDtype(std::string_view text);

/// What to do about a refused dtype, as a sentence's rest: "convert to float32 before ...".
[[nodiscard]] std::string dtypeAdvice(const RefusedDtype& refused);

}  // namespace highwater
