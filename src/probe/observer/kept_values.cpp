#include "probe/observer/kept_values.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/core/Scalar.h>

#include <array>
#include <cstddef>

#include "core/messages.h"
#include "probe/observer/tried_waits.h"

namespace highwater::probe {
namespace {

/// Larger copies are no values that a loop prints: leaving them out would cost memory.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;

struct KeptValue {
  std::optional<c10::Scalar> scalar;
  c10::ScalarType type = c10::ScalarType::Undefined;
  at::Tensor copy;
};

std::array<KeptValue, kMostTriedSites>& keptOfThread() {
  thread_local std::array<KeptValue, kMostTriedSites> kept;
  return kept;
}

bool isLike(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

}  // namespace

std::optional<c10::Scalar> keptScalar(const at::Tensor& tensor) {
  const auto tried = triedWaitHere();
  if (!tried || !tried->isLeftOut) return std::nullopt;
  const KeptValue& kept = keptOfThread()[tried->place];
  return kept.type == tensor.scalar_type() ? kept.scalar : std::nullopt;
}

void keepScalar(const at::Tensor& tensor, const c10::Scalar& value) {
  const auto tried = triedWaitHere();
  if (!tried) return;
  KeptValue& kept = keptOfThread()[tried->place];
  kept.scalar = value;
  kept.type = tensor.scalar_type();
}

bool copyKept(at::Tensor& to, const at::Tensor& from) {
  const auto tried = triedWaitHere();
  if (!tried || !tried->isLeftOut) return false;
  const at::Tensor& kept = keptOfThread()[tried->place].copy;
  if (!isLike(kept, to) || !isLike(from, to)) return false;
  const c10::AutoGradMode noGrad(false);
  to.detach().copy_(kept);
  return true;
}

void keepCopy(const at::Tensor& to, const at::Tensor& from) {
  const auto tried = triedWaitHere();
  if (!tried || !isLike(from, to) || to.nbytes() > kMostKeptBytes) return;
  const c10::AutoGradMode noGrad(false);
  keptOfThread()[tried->place].copy = to.detach().clone();
}

void forgetKeptValues() {
  keptOfThread() = {};
}

}  // namespace highwater::probe
