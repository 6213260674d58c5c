#pragma once

#include <ATen/core/ivalue.h>

#include "probe/op_stack.h"

/// What an op's tensors tell about it, as RecordFunction hands them over. Nothing in here throws: a
/// tensor that does not say its sizes (nested, symbolic) counts for nothing.
namespace highwater::probe {

/// Whether and why an op of this tag makes the host wait.
[[nodiscard]] OpWait waitOf(OpTag tag, c10::ArrayRef<const c10::IValue> inputs) noexcept;

/// The shapes of the tensor arguments, lists included, and whether one of them is on `mps`.
[[nodiscard]] OpDetail detailOf(c10::ArrayRef<const c10::IValue> inputs,
                                ShapeTexts& texts) noexcept;

/// The largest tensor that the op returned; current allocated, by the counter that real MPS has
/// too, where a tensor of it is on `mps` or `onDevice` says so.
[[nodiscard]] OpResult resultOf(c10::ArrayRef<const c10::IValue> outputs, bool onDevice) noexcept;

}  // namespace highwater::probe
