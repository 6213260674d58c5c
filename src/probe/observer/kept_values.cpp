#include "probe/observer/kept_values.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/core/Scalar.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <unordered_map>
#include <vector>

namespace highwater::probe {
namespace {

/// Larger copies are no values that a loop prints: keeping them would cost memory.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;
/// Places that are kept: a loop may read thousands of values in a step.
constexpr std::size_t kMostKept = 256;

struct KeptValue {
  c10::Scalar scalar;
  c10::ScalarType type = c10::ScalarType::Undefined;
  std::vector<std::int64_t> sizes;
  std::vector<char> bytes;  ///< of a copy
};

std::unordered_map<std::uint64_t, KeptValue>& keptOfThread() {
  thread_local std::unordered_map<std::uint64_t, KeptValue> kept;
  return kept;
}

/// The value of a place; nullptr where there is none of that type.
const KeptValue* keptAt(const TriedWait& wait, c10::ScalarType type) {
  const auto& all = keptOfThread();
  const auto found = all.find(wait.place);
  return found != all.end() && found->second.type == type ? &found->second : nullptr;
}

KeptValue* placeFor(const TriedWait& wait) {
  auto& all = keptOfThread();
  if (all.size() >= kMostKept && !all.contains(wait.place)) return nullptr;
  return &all[wait.place];
}

/// Whether its bytes are all that there is to it: no mode of Python or of torch.func sees it.
bool isPlain(const at::Tensor& tensor) {
  const c10::DispatchKeySet keys = tensor.key_set();
  return tensor.layout() == c10::kStrided && tensor.is_contiguous() &&
         !keys.has(c10::DispatchKey::Python) && !keys.has(c10::DispatchKey::FuncTorchBatched) &&
         !keys.has(c10::DispatchKey::FuncTorchGradWrapper);
}

}  // namespace

std::optional<c10::Scalar> keptScalar(const TriedWait& wait, const at::Tensor& tensor) noexcept {
  if (!wait.isLeftOut) return std::nullopt;
  const KeptValue* kept = keptAt(wait, tensor.scalar_type());
  return kept && kept->bytes.empty() ? std::optional(kept->scalar) : std::nullopt;
}

void keepScalar(const TriedWait& wait, const at::Tensor& tensor,
                const c10::Scalar& value) noexcept {
  try {
    if (KeptValue* kept = placeFor(wait)) *kept = {value, tensor.scalar_type(), {}, {}};
  } catch (const std::exception&) {  // no memory: the next read waits
  }
}

bool isTriableCopy(const at::Tensor& to, const at::Tensor& from) noexcept {
  try {
    const bool wantsGradient =
        c10::GradMode::is_enabled() && (to.requires_grad() || from.requires_grad());
    return !wantsGradient && isPlain(to) && isPlain(from) &&
           to.scalar_type() == from.scalar_type() && to.sizes() == from.sizes() && to.numel() > 0 &&
           to.nbytes() <= kMostKeptBytes;
  } catch (const std::exception&) {
    return false;
  }
}

bool copyKept(const TriedWait& wait, at::Tensor& to) noexcept {
  try {
    const KeptValue* kept = wait.isLeftOut ? keptAt(wait, to.scalar_type()) : nullptr;
    if (!kept || kept->bytes.size() != to.nbytes() || to.sizes() != kept->sizes) return false;
    std::memcpy(to.mutable_data_ptr(), kept->bytes.data(), kept->bytes.size());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void keepCopy(const TriedWait& wait, const at::Tensor& to) noexcept {
  try {
    KeptValue* kept = placeFor(wait);
    if (!kept) return;
    const auto* first = static_cast<const char*>(to.const_data_ptr());
    *kept = {{}, to.scalar_type(), to.sizes().vec(), {first, first + to.nbytes()}};
  } catch (const std::exception&) {  // no memory: the next copy waits
  }
}

void forgetKeptValues() noexcept {
  keptOfThread().clear();
}

}  // namespace highwater::probe
