#pragma once

#include <cstdint>
#include <optional>

namespace at {
class Tensor;
}
namespace c10 {
class Scalar;
}

/// The loss of a training whose code is not Highwater's, where its host reads it: the tensor that
/// backward was last called on, and the value that it had when the training thread read it by
/// item(). Kept for each thread; nothing is read for it.
namespace highwater::probe {

/// Notes that backward is called on a tensor of one element, given as its c10::TensorImpl, which
/// must be alive. It may have been read before.
void noteLoss(std::uintptr_t tensorImpl);
/// Notes that the calling thread has read an element of a tensor on the device. Does nothing before
/// the thread's first noteLoss().
void noteScalarRead(const at::Tensor& tensor, const c10::Scalar& value);
/// Whether the calling thread has a loss, noteLoss(), of which takeReadLoss() has no value yet.
[[nodiscard]] bool awaitsLoss();
/// The loss that was read last since the previous call on this thread; nullopt where none was.
[[nodiscard]] std::optional<float> takeReadLoss();

}  // namespace highwater::probe
