#include "core/fallback_advice.h"

#include <array>

namespace highwater {
namespace {

struct Advice {
  std::string_view opPrefix;
  std::string_view text;
};
constexpr std::array<Advice, 5> kKnown = {{
    {"aten::embedding_renorm_",
     "leave out max_norm and scale the rows yourself, for example once an epoch"},
    {"aten::multi_margin_loss", "write the loss with gather and clamp, which have MPS kernels"},
    {"aten::_ctc_loss",
     "compute the loss alone on the CPU, from log_probs.cpu() and targets that stay there"},
    {"aten::_pdist_",
     "take the norm of x[i] - x[j] with i, j = torch.triu_indices(n, n, 1), which have MPS "
     "kernels"},
    {"", "use an op that has an MPS kernel"},
}};

}  // namespace

std::string_view fallbackAdvice(std::string_view op) {
  for (const Advice& each : kKnown) {
    if (op.starts_with(each.opPrefix)) return each.text;
  }
  return {};
}

}  // namespace highwater
