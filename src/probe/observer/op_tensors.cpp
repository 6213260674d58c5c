#include "probe/observer/op_tensors.h"

#include <ATen/detail/MPSHooksInterface.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>

namespace highwater::probe {
namespace {

// Tensors of a list that are read: _foreach ops take hundreds.
constexpr std::size_t kMaxListed = 16;

// Set before ops are observed, but read on any thread, also of an observer that ended.
std::atomic<c10::BackendComponent> watchedBackend{c10::BackendComponent::MPSBit};

const at::Tensor* tensorAt(c10::ArrayRef<const c10::IValue> inputs, std::size_t index) {
  if (index >= inputs.size() || !inputs[index].isTensor()) return nullptr;
  const at::Tensor* tensor = &inputs[index].toTensor();
  return tensor->defined() ? tensor : nullptr;
}

std::uint64_t bytesOf(const at::Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.numel()) * tensor.itemsize();
}

/// A copy between CPU and device; `blocks` as in PyTorch's MPS copies. `isEmpty`: it copies
/// nothing, and does not wait.
OpWait copyWait(const at::Tensor& from, const at::Tensor& to, bool blocks, bool isEmpty) {
  if (isEmpty) return {};
  if (isOnDevice(from) && to.is_cpu()) {
    return {events::SyncKind::CopyToHost, bytesOf(from), blocks};
  }
  if (from.is_cpu() && isOnDevice(to)) {
    return {events::SyncKind::CopyToDevice, bytesOf(from), blocks};
  }
  return {};
}

std::uint64_t bytesMovedToCpu(c10::ArrayRef<const c10::IValue> inputs) {
  std::uint64_t bytes = 0;
  for (const c10::IValue& input : inputs) {
    if (!input.isTensorList()) continue;
    for (const c10::IValue& element : input.toListRef()) {
      const at::Tensor& tensor = element.toTensor();
      if (isOnDevice(tensor)) bytes += bytesOf(tensor);
    }
  }
  return bytes;
}

/// Bytes of boolean and byte index tensors: the host needs the positions of their true values.
std::uint64_t bytesOfMasks(const c10::IValue& indices) {
  std::uint64_t bytes = 0;
  if (!indices.isList()) return bytes;
  for (const c10::IValue& index : indices.toListRef()) {
    if (!index.isTensor() || !isOnDevice(index.toTensor())) continue;
    const at::ScalarType type = index.toTensor().scalar_type();
    if (type == at::kBool || type == at::kByte) bytes += bytesOf(index.toTensor());
  }
  return bytes;
}

/// The wait of an op that needs values of its first argument on the host.
OpWait valuesWait(OpTag tag, const at::Tensor& first, c10::ArrayRef<const c10::IValue> inputs) {
  if (!isOnDevice(first)) return {};
  switch (tag) {
    case OpTag::kScalarRead:
      return {events::SyncKind::ScalarRead, first.itemsize()};
    case OpTag::kNonzero:
      return {events::SyncKind::Nonzero, bytesOf(first)};
    case OpTag::kEqual:
      return {events::SyncKind::Equal, bytesOf(first)};
    case OpTag::kUnique:
      return {events::SyncKind::Unique, bytesOf(first)};
    case OpTag::kBincount:
      return {events::SyncKind::ValueRead, bytesOf(first)};
    case OpTag::kRepeats:
      // The overload that takes only the counts, without the result's size.
      if (inputs.size() != 2 || !inputs[1].isNone() || first.numel() == 0) return {};
      return {events::SyncKind::ValueRead, bytesOf(first)};
    case OpTag::kIndex: {
      const std::uint64_t masks = inputs.size() > 1 ? bytesOfMasks(inputs[1]) : 0;
      return masks > 0 ? OpWait{events::SyncKind::Nonzero, masks} : OpWait{};
    }
    default:
      return {};
  }
}

OpWait readWait(OpTag tag, c10::ArrayRef<const c10::IValue> inputs) {
  if (tag == OpTag::kToCpu) return {events::SyncKind::Fallback, bytesMovedToCpu(inputs)};
  const at::Tensor* first = tensorAt(inputs, 0);
  if (!first) return {};
  if (tag == OpTag::kStaged) {
    return {first->is_cpu() ? events::SyncKind::Fallback : events::SyncKind::None,
            first->is_cpu() || isOnDevice(*first) ? bytesOf(*first) : 0};
  }
  const bool copies =
      tag == OpTag::kCopy || tag == OpTag::kCopyFrom || tag == OpTag::kCopyFromAndResize;
  if (!copies) return valuesWait(tag, *first, inputs);
  const at::Tensor* second = tensorAt(inputs, 1);
  if (!second) return {};
  if (tag == OpTag::kCopyFromAndResize) {
    return copyWait(*first, *second, true, first->numel() == 0);
  }
  const bool blocks = !(inputs.size() > 2 && inputs[2].isBool() && inputs[2].toBool());
  const at::Tensor& from = tag == OpTag::kCopy ? *second : *first;
  const at::Tensor& to = tag == OpTag::kCopy ? *first : *second;
  return copyWait(from, to, blocks, to.numel() == 0);
}

/// Calls f(tensor) for each tensor argument, and for the first kMaxListed of each list.
template <typename F>
void forEachTensor(c10::ArrayRef<const c10::IValue> values, F&& f) {
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      f(value.toTensor());
    } else if (value.isList()) {
      const c10::ArrayRef<c10::IValue> list = value.toListRef();
      if (list.empty() || !(list[0].isTensor() || list[0].isNone())) continue;
      for (const c10::IValue& each : list.slice(0, std::min(list.size(), kMaxListed))) {
        if (each.isTensor()) f(each.toTensor());
      }
    }
  }
}

// The MPS hooks, which live as long as the process; nullptr where another device is observed.
std::atomic<const at::MPSHooksInterface*> countingHooks{nullptr};

}  // namespace

bool saysItsSizes(const at::Tensor& tensor) noexcept {
  return tensor.defined() && !tensor.is_nested() &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

std::string writeShapes(c10::ArrayRef<const c10::IValue> values) {
  std::string text;
  forEachTensor(values, [&text](const at::Tensor& tensor) {
    if (!saysItsSizes(tensor)) return;
    appendShape(text, tensor.sizes(), c10::getDtypeNames(tensor.scalar_type()).first);
  });
  return text;
}

bool isOnDevice(const at::Tensor& tensor) noexcept {
  constexpr c10::DispatchKeySet kHolds{c10::DispatchKey::Python, c10::DispatchKey::Functionalize};
  const c10::DispatchKeySet keys = tensor.key_set();
  return keys.has_backend(watchedBackend.load(std::memory_order_relaxed)) && !keys.has_any(kHolds);
}

bool isAnyOnDevice(c10::ArrayRef<const c10::IValue> inputs) noexcept {
  bool found = false;
  forEachTensor(inputs, [&found](const at::Tensor& tensor) { found |= isOnDevice(tensor); });
  return found;
}

void watchDevice(DeviceKind kind) {
  watchedBackend =
      kind == DeviceKind::kCuda ? c10::BackendComponent::CUDABit : c10::BackendComponent::MPSBit;
  countingHooks = nullptr;
  if (kind != DeviceKind::kMps) return;
  try {
    const at::MPSHooksInterface& hooks = at::detail::getMPSHooks();
    countingHooks = hooks.hasMPS() ? &hooks : nullptr;
  } catch (const std::exception&) {
    countingHooks = nullptr;
  }
}

std::string_view watchedDevice() noexcept {
  if (watchedBackend == c10::BackendComponent::CUDABit) return "cuda";
  return countingHooks ? "mps" : "";
}

OpWait waitOf(OpTag tag, c10::ArrayRef<const c10::IValue> inputs) noexcept {
  if (tag == OpTag::kOther) return {};
  try {
    return readWait(tag, inputs);
  } catch (const std::exception&) {
    return {};
  }
}

std::int64_t currentAllocated() noexcept {
  const at::MPSHooksInterface* hooks = countingHooks.load(std::memory_order_relaxed);
  try {
    return hooks ? static_cast<std::int64_t>(hooks->getCurrentAllocatedMemory()) : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

OpDetail detailOf(c10::ArrayRef<const c10::IValue> inputs, ShapeTexts& texts) noexcept {
  OpDetail detail;
  try {
    ShapeHash hash;
    bool any = false;
    forEachTensor(inputs, [&](const at::Tensor& tensor) {
      if (!saysItsSizes(tensor)) return;
      any = true;
      hash.add({tensor.sizes(), static_cast<std::uint8_t>(tensor.scalar_type())});
    });
    if (any) detail.shapes = texts.find(hash.value(), [inputs] { return writeShapes(inputs); });
  } catch (const std::exception&) {
    // The op is recorded without shapes.
  }
  detail.currentBytes = currentAllocated();
  return detail;
}

}  // namespace highwater::probe
