#pragma once

#include <optional>

namespace at {
class Tensor;
}
namespace c10 {
class Scalar;
}

/// The values that the calling thread has read of the device at the places of tryWaits(): each
/// place's last one, which it gets again where the wait is left out. A read of another type or size
/// waits as ever.
namespace highwater::probe {

/// The value to give for a read of `tensor`'s only element; std::nullopt: read it.
[[nodiscard]] std::optional<c10::Scalar> keptScalar(const at::Tensor& tensor);
/// Keeps what was read, where the wait is tried.
void keepScalar(const at::Tensor& tensor, const c10::Scalar& value);

/// Gives `to`, a tensor of the CPU, what was copied there last from a tensor like `from`. False:
/// copy it.
[[nodiscard]] bool copyKept(at::Tensor& to, const at::Tensor& from);
/// Keeps a copy of what was copied, where the wait is tried and it is small.
void keepCopy(const at::Tensor& to, const at::Tensor& from);

/// Forgets all values of the calling thread.
void forgetKeptValues();

}  // namespace highwater::probe
