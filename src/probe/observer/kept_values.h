#pragma once

#include <optional>

#include "probe/observer/tried_waits.h"

namespace at {
class Tensor;
}
namespace c10 {
class Scalar;
}

/// The values that the calling thread has read of the device at the places of tryWaits(): of each
/// place the last one, which it gets again where the wait is left out. A read of another type or
/// size waits as ever.
namespace highwater::probe {

/// The value to give for a read of `tensor`'s only element; std::nullopt: read it.
[[nodiscard]] std::optional<c10::Scalar> keptScalar(const TriedWait& wait,
                                                    const at::Tensor& tensor) noexcept;
/// Keeps what was read.
void keepScalar(const TriedWait& wait, const at::Tensor& tensor, const c10::Scalar& value) noexcept;

/// Whether a copy may be tried: of a plain tensor that is small, to the CPU, of which no gradient
/// is wanted.
[[nodiscard]] bool isTriableCopy(const at::Tensor& to, const at::Tensor& from) noexcept;
/// Gives `to` what was copied there last, if that had its type and sizes. False: copy it.
[[nodiscard]] bool copyKept(const TriedWait& wait, at::Tensor& to) noexcept;
/// Keeps a copy of what was copied.
void keepCopy(const TriedWait& wait, const at::Tensor& to) noexcept;

/// Forgets all values of the calling thread.
void forgetKeptValues() noexcept;

}  // namespace highwater::probe
