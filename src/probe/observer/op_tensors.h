#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <string_view>

#include "probe/observer/device_kind.h"
#include "probe/observer/op_stack.h"

/// Reads an op's tensors, as RecordFunction passes them. A tensor that cannot tell its sizes
/// (nested, symbolic) is skipped.
namespace highwater::probe {

/// Chooses the device that the functions below look at. Call it first, while no op is observed.
void watchDevice(DeviceKind kind);

/// Returns the name of the chosen device, "mps" or "cuda"; "" where MPS is chosen and the process
/// has none.
[[nodiscard]] std::string_view watchedDevice() noexcept;

/// Returns whether the tensor is defined and tells its sizes.
[[nodiscard]] bool saysItsSizes(const at::Tensor& tensor) noexcept;
/// Returns the text of the shapes of an op's tensors, as in OpSpan; of each list the first ones.
[[nodiscard]] std::string writeShapes(c10::ArrayRef<const c10::IValue> values);

/// Returns whether the tensor is on the watched device, by its dispatch keys: asking for the device
/// may call Python. False for a tensor that holds others, such as a fake one of torch.compile: the
/// ops that it is made of are seen.
[[nodiscard]] bool isOnDevice(const at::Tensor& tensor) noexcept;
/// Returns whether one of an op's tensor arguments is, also of those in lists.
[[nodiscard]] bool isAnyOnDevice(c10::ArrayRef<const c10::IValue> inputs) noexcept;

/// Returns whether and why an op with this tag and these arguments makes the host wait for the
/// watched device. Never throws: where the tensors cannot tell, the op counts as one that does not
/// wait.
[[nodiscard]] OpWait waitOf(OpTag tag, c10::ArrayRef<const c10::IValue> inputs) noexcept;

/// Returns the id of the text of the shapes of an op's tensor arguments (also of those in lists, of
/// each list the first ones), and the device memory currently allocated. Never throws: tensors
/// without known sizes are skipped.
[[nodiscard]] OpDetail detailOf(c10::ArrayRef<const c10::IValue> inputs,
                                ShapeTexts& texts) noexcept;

/// Returns the memory that PyTorch has currently allocated on the MPS device, in bytes; -1 where
/// MPS is not the watched device, is missing, or the reading failed.
[[nodiscard]] std::int64_t currentAllocated() noexcept;

}  // namespace highwater::probe
