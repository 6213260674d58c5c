#include "core/fallback_advice.h"

namespace highwater {

std::string_view fallbackAdvice(std::string_view op) {
  if (op == "aten::embedding_renorm_") {
    return "leave out max_norm and scale the rows yourself, for example once an epoch";
  }
  if (op.starts_with("aten::multi_margin_loss")) {
    return "write the loss with gather and clamp, which have MPS kernels";
  }
  return "use an op that has an MPS kernel";
}

}  // namespace highwater
