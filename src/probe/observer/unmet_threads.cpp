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

bool isUnmet() {
  return kernelsObserve.load(std::memory_order_relaxed) &&
         !c10::impl::tls_is_dispatch_key_included(kWatchKey);
}

/// The keys of the op's next kernel. Where the thread was not watched and now is, that is the one
/// which observes the op: it was not asked, since the thread did not include its key.
c10::DispatchKeySet nextKeys(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                             bool mayMatter) {
  const c10::DispatchKeySet next = keysAfter(kKey, keys);
  if (!mayMatter || !op.hasKernelForDispatchKey(kWatchKey)) return next;
  const auto meet = meetThread.load(std::memory_order_acquire);
  return meet && meet() ? next.add(kWatchKey) : next;
}

c10::ArrayRef<c10::IValue> inputsOf(const c10::OperatorHandle& op, const c10::Stack& stack) {
  return c10::ArrayRef<c10::IValue>(stack).slice(stack.size() - op.schema().arguments().size());
}

template <bool kMayFallBack>
void callNext(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
  const auto mayMatter = [&] {
    const auto inputs = inputsOf(op, *stack);
    if (kMayFallBack) return isAnyOnDevice(inputs);
    return waitOf(opTag(op.operator_name().name), inputs).kind != events::SyncKind::None;
  };
  op.redispatchBoxed(nextKeys(op, keys, isUnmet() && mayMatter()), stack);
}

// As callNext(), for the two ops that are called often, and mostly on the CPU.

at::Tensor& copyNext(c10::DispatchKeySet keys, at::Tensor& self, const at::Tensor& source,
                     bool nonBlocking) {
  static const CopyOp op = copyOp();
  const bool mayMatter = isUnmet() && isOnDevice(self) != isOnDevice(source);
  return op.redispatch(nextKeys(op, keys, mayMatter), self, source, nonBlocking);
}

at::Scalar readScalarNext(c10::DispatchKeySet keys, const at::Tensor& self) {
  static const ScalarReadOp op = scalarReadOp();
  return op.redispatch(nextKeys(op, keys, isUnmet() && isOnDevice(self)), self);
}

/// True for an op that waits by itself. An index with a mask calls one.
bool waitsItself(OpTag tag) {
  return tag != OpTag::kOther && tag != OpTag::kReader && tag != OpTag::kIndex;
}

c10::KernelFunction kernelOf(OpTag tag, bool mayFallBack) {
  using c10::KernelFunction;
  if (mayFallBack) return KernelFunction::makeFromBoxedFunction<&callNext<true>>();
  if (tag == OpTag::kCopy) return KernelFunction::makeFromUnboxedFunction(TORCH_FN(copyNext));
  if (tag == OpTag::kScalarRead) {
    return KernelFunction::makeFromUnboxedFunction(TORCH_FN(readScalarNext));
  }
  return KernelFunction::makeFromBoxedFunction<&callNext<false>>();
}

}  // namespace

void noticeUnmetThreads(const OpNames& mayFallBack, bool (*meet)() noexcept) {
  meetThread = meet;
  // Never destroyed: at the end of the process other threads may still run ops.
  static auto* kernels = std::make_unique<std::vector<c10::RegistrationHandleRAII>>().release();
  if (!kernels->empty()) return;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const bool fallsBack = mayFallBack.contains(name);
    const OpTag tag = opTag(name.name);
    const auto op = dispatcher.findSchema(name);
    if (!op || !(fallsBack || waitsItself(tag)) || op->hasKernelForDispatchKey(kKey)) continue;
    kernels->push_back(dispatcher.registerImpl(name, kKey, kernelOf(tag, fallsBack), std::nullopt,
                                               nullptr, "Highwater: notices threads"));
  }
}

}  // namespace highwater::probe
