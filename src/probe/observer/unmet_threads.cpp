#include "probe/observer/unmet_threads.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "probe/observer/op_stack.h"
#include "probe/observer/op_tensors.h"
#include "probe/observer/watched_kernels.h"

namespace highwater::probe {
namespace {

constexpr c10::DispatchKey kKey = c10::DispatchKey::BackendSelect;

std::atomic<bool (*)() noexcept> meetThread{nullptr};
/// Returns true where the thread was not watched and now is.
bool meetsThisThread() {
  if (!kernelsObserve.load(std::memory_order_relaxed) ||
      c10::impl::tls_is_dispatch_key_included(kWatchKey)) {
    return false;
  }
  const auto meet = meetThread.load(std::memory_order_acquire);
  return meet && meet();
}

void pass(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
  const auto inputs =
      c10::ArrayRef<c10::IValue>(*stack).slice(stack->size() - op.schema().arguments().size());
  if (isAnyOnDevice(inputs) && meetsThisThread()) return op.callBoxed(stack);
  op.redispatchBoxed(keysAfter(kKey, keys), stack);
}

// As pass(), for the two ops that are called often, and mostly on the CPU.

at::Tensor& passCopy(c10::DispatchKeySet keys, at::Tensor& self, const at::Tensor& source,
                     bool nonBlocking) {
  static const CopyOp op = copyOp();
  if ((isOnDevice(self) || isOnDevice(source)) && meetsThisThread()) {
    return op.call(self, source, nonBlocking);
  }
  return op.redispatch(keysAfter(kKey, keys), self, source, nonBlocking);
}

at::Scalar passScalarRead(c10::DispatchKeySet keys, const at::Tensor& self) {
  static const ScalarReadOp op = scalarReadOp();
  if (isOnDevice(self) && meetsThisThread()) return op.call(self);
  return op.redispatch(keysAfter(kKey, keys), self);
}

/// True for an op that waits or falls back by itself. An index with a mask calls one.
bool isAtTheBottom(OpTag tag) {
  return tag != OpTag::kOther && tag != OpTag::kReader && tag != OpTag::kIndex;
}

c10::KernelFunction kernelOf(OpTag tag) {
  using c10::KernelFunction;
  if (tag == OpTag::kCopy) return KernelFunction::makeFromUnboxedFunction(TORCH_FN(passCopy));
  if (tag == OpTag::kScalarRead) {
    return KernelFunction::makeFromUnboxedFunction(TORCH_FN(passScalarRead));
  }
  return KernelFunction::makeFromBoxedFunction<&pass>();
}

}  // namespace

void noticeUnmetThreads(bool (*meet)() noexcept) {
  meetThread = meet;
  // Never destroyed: at the end of the process other threads may still run ops.
  static auto* kernels = std::make_unique<std::vector<c10::RegistrationHandleRAII>>().release();
  if (!kernels->empty()) return;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op || !isAtTheBottom(opTag(name.name)) || op->hasKernelForDispatchKey(kKey)) continue;
    kernels->push_back(dispatcher.registerImpl(name, kKey, kernelOf(opTag(name.name)), std::nullopt,
                                               nullptr, "Highwater: notices threads"));
  }
}

}  // namespace highwater::probe
