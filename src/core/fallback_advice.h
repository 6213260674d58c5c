#pragma once

#include <string_view>

namespace highwater {

/// What to do so that `op` ("aten::embedding_renorm_") no longer falls back to the CPU, as an
/// imperative without a full stop: how to write it with ops that MPS has where that is known, else
/// the general advice to use one.
[[nodiscard]] std::string_view fallbackAdvice(std::string_view op);

}  // namespace highwater
