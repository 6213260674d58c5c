#include "core/missing_op.h"

#include "core/fallback_advice.h"

namespace highwater {
namespace {

constexpr std::string_view kBefore = "The operator '";
constexpr std::string_view kAfter = "' is not currently implemented for the MPS device";
// An op's name is a namespace, a name and maybe an overload.
constexpr std::size_t kMostNameBytes = 200;

}  // namespace

std::optional<MissingOp> missingOp(std::string_view text) {
  const auto after = text.find(kAfter);
  if (after == std::string_view::npos) return std::nullopt;
  const auto before = text.substr(0, after).rfind(kBefore);
  if (before == std::string_view::npos) return std::nullopt;
  const std::string_view op = text.substr(before + kBefore.size(), after - before - kBefore.size());
  if (op.empty() || op.size() > kMostNameBytes) return std::nullopt;
  return MissingOp{std::string(op),
                   std::string(text.substr(before, after + kAfter.size() - before))};
}

std::string missingOpAdvice(const MissingOp& missing) {
  return "set PYTORCH_ENABLE_MPS_FALLBACK=1 in the environment before Python starts: the op then "
         "runs on the CPU, and each call waits for the device and copies the op's tensors there "
         "and back, which the next recording measures. To do without it, " +
         std::string(fallbackAdvice(missing.op));
}

}  // namespace highwater
