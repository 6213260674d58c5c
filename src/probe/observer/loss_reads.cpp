#include "probe/observer/loss_reads.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace highwater::probe {
namespace {

/// An element of a storage. Holds neither the tensor nor its memory; the address of the storage is
/// not used again as long as it lives.
struct Element {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  std::int64_t offset = 0;

  Element() : storage(c10::weak_intrusive_ptr<c10::StorageImpl>::reclaim(nullptr)) {}
  explicit Element(const c10::TensorImpl& tensor)
      : storage(tensor.unsafe_storage().getWeakStorageImpl()), offset(tensor.storage_offset()) {}

  [[nodiscard]] bool isOf(const c10::TensorImpl& tensor) const {
    return storage._unsafe_get_target() == tensor.unsafe_storage().unsafeGetStorageImpl() &&
           offset == tensor.storage_offset();
  }
};

struct Read {
  Element element;
  float value = 0;
};

struct LossReads {
  bool follows = false;
  Element loss;
  std::optional<float> value;
  /// The newest ones since the last backward: a script may read its loss before.
  std::array<Read, 4> reads;
  std::size_t nextRead = 0;
};

LossReads& ofThread() {
  thread_local LossReads reads;
  return reads;
}

}  // namespace

void noteLoss(std::uintptr_t tensorImpl) {
  const auto& tensor = *reinterpret_cast<const c10::TensorImpl*>(tensorImpl);
  if (!tensor.has_storage() || tensor.numel() != 1) return;
  LossReads& all = ofThread();
  all.follows = true;
  all.loss = Element(tensor);
  for (std::size_t i = 0; i < all.reads.size(); ++i) {  // the oldest first
    Read& each = all.reads[(all.nextRead + i) % all.reads.size()];
    if (each.element.isOf(tensor)) all.value = each.value;
    each = {};
  }
}

void noteScalarRead(const at::Tensor& tensor, const c10::Scalar& value) {
  LossReads& all = ofThread();
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!all.follows || !value.isFloatingPoint() || !impl.has_storage()) return;
  auto number = static_cast<float>(value.toDouble());
  if (std::isnan(number))
    number = std::numeric_limits<float>::quiet_NaN();  // as text without a sign
  if (all.loss.isOf(impl)) {
    all.value = number;
  } else {
    all.reads[all.nextRead++ % all.reads.size()] = {Element(impl), number};
  }
}

bool awaitsLoss() {
  const LossReads& all = ofThread();
  return all.follows && !all.value;
}

std::optional<float> takeReadLoss() {
  return std::exchange(ofThread().value, std::nullopt);
}

}  // namespace highwater::probe
