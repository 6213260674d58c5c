#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>

#include "probe/op_observer.h"
#include "probe/op_stack.h"

/// What an op's tensors tell about it, as RecordFunction hands them over. Nothing in here throws: a
/// tensor that does not say its sizes (nested, symbolic) counts for nothing.
namespace highwater::probe {

/// To be called before the rest, while no op is looked at: which device is meant by "the device".
void watchDevice(DeviceKind kind);

/// "mps" or "cuda"; "" where the process has no such device.
[[nodiscard]] std::string_view watchedDevice() noexcept;

/// Whether and why an op of this tag makes the host wait.
[[nodiscard]] OpWait waitOf(OpTag tag, c10::ArrayRef<const c10::IValue> inputs) noexcept;

/// The shapes of the tensor arguments, lists included, and current allocated.
[[nodiscard]] OpDetail detailOf(c10::ArrayRef<const c10::IValue> inputs,
                                ShapeTexts& texts) noexcept;

/// Current allocated in bytes, by the counter that real MPS has too; -1 where there is no device.
[[nodiscard]] std::int64_t currentAllocated() noexcept;

}  // namespace highwater::probe
