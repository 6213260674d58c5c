#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace highwater {

/// An op that MPS has no kernel for, as PyTorch's error says it.
struct MissingOp {
  std::string op;       ///< "aten::_pdist_forward"
  std::string message;  ///< the sentence that says so
};

/// Finds PyTorch's message that MPS lacks an op anywhere in `text`; nullopt without one. The first
/// one counts. Its words are those of PyTorch 2.6 to 2.15 (aten/src/ATen/mps/MPSFallback.mm).
[[nodiscard]] std::optional<MissingOp> missingOp(std::string_view text);

/// What to do about a missing op, as a sentence's rest: "set PYTORCH_ENABLE_MPS_FALLBACK=1 ...".
[[nodiscard]] std::string missingOpAdvice(const MissingOp& missing);

}  // namespace highwater
