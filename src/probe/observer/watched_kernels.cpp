#include "probe/observer/watched_kernels.h"

#include <ATen/record_function.h>

#include <array>
#include <optional>

#include "probe/observer/kept_values.h"
#include "probe/observer/loss_reads.h"
#include "probe/observer/op_stack.h"
#include "probe/observer/op_tensors.h"
#include "probe/observer/thread_op_stack.h"
#include "probe/observer/tried_waits.h"

namespace highwater::probe {
namespace {

/// Begins the op on the thread's stack. Returns false where it is not observed, or already is.
/// `inputs()` returns its arguments; `from` is as for OpStack::begin().
template <typename Inputs>
[[gnu::always_inline]] inline bool beginOp(const c10::OperatorHandle& op, bool mayFallBack,
                                           const void* from, Inputs&& inputs) {
  // A thread that opted out of RecordFunction wants no profiler.
  const bool observes =
      kernelsObserve.load(std::memory_order_relaxed) && at::isRecordFunctionEnabled();
  OpStack* ops = observes ? threadOpStack() : nullptr;
  if (!ops) return false;
  // The dispatcher tells when the name goes (forgetNameAddressesOfThreads).
  NameCache::Entry& name = ops->name(op.operator_name().name.c_str(), [] { return true; });
  if (ops->passes(name, from)) return false;
  ops->begin(name, OpLayer::kDispatch, waitOf(static_cast<OpTag>(name.tag), inputs()), mayFallBack,
             from);
  return true;
}

template <bool kMayFallBack>
void observe(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
  const OpenOp open(beginOp(op, kMayFallBack, __builtin_return_address(0), [&] {
    return c10::ArrayRef<c10::IValue>(*stack).slice(stack->size() - op.schema().arguments().size());
  }));
  op.redispatchBoxed(keysAfter(kWatchKey, keys), stack);
}

at::Tensor& observeCopy(c10::DispatchKeySet keys, at::Tensor& self, const at::Tensor& source,
                        bool nonBlocking) {
  static const CopyOp op = copyOp();
  std::optional<TriedWait> tried;
  if (triesWaits && self.is_cpu() && isOnDevice(source)) [[unlikely]] {
    if (nonBlocking) {
      copiesToHost = true;
    } else if (isTriableCopy(self, source)) {
      tried = triedWaitHere();
    }
    if (tried && copyKept(*tried, self)) return self;
  }
  {
    std::array<c10::IValue, 3> inputs;
    const OpenOp open((isOnDevice(self) || isOnDevice(source)) &&
                      beginOp(op, false, __builtin_return_address(0), [&] {
                        inputs = {self, source, nonBlocking};
                        return c10::ArrayRef<c10::IValue>(inputs);
                      }));
    op.redispatch(keysAfter(kWatchKey, keys), self, source, nonBlocking);
  }
  if (tried) [[unlikely]]
    keepCopy(*tried, self);
  return self;
}

at::Scalar observeScalarRead(c10::DispatchKeySet keys, const at::Tensor& self) {
  static const ScalarReadOp op = scalarReadOp();
  std::optional<TriedWait> tried;
  if (triesWaits && isOnDevice(self)) [[unlikely]] {
    tried = triedWaitHere();
    if (tried) {
      if (const auto kept = keptScalar(*tried, self)) return *kept;
    }
  }
  c10::IValue input;
  const OpenOp open(isOnDevice(self) && beginOp(op, false, __builtin_return_address(0), [&] {
                      input = self;
                      return c10::ArrayRef<c10::IValue>(input);
                    }));
  const at::Scalar value = op.redispatch(keysAfter(kWatchKey, keys), self);
  if (isOnDevice(self)) noteScalarRead(self, value);
  if (tried) [[unlikely]]
    keepScalar(*tried, self, value);
  return value;
}

}  // namespace

CopyOp copyOp() {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("aten::copy_", "")
      .typed<at::Tensor&(at::Tensor&, const at::Tensor&, bool)>();
}

ScalarReadOp scalarReadOp() {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("aten::_local_scalar_dense", "")
      .typed<at::Scalar(const at::Tensor&)>();
}

c10::KernelFunction watchedKernel(const c10::OperatorName& name, bool mayFallBack) {
  using c10::KernelFunction;
  if (mayFallBack) return KernelFunction::makeFromBoxedFunction<&observe<true>>();
  // Neither has an overload.
  if (name.name == "aten::copy_") {
    return KernelFunction::makeFromUnboxedFunction(TORCH_FN(observeCopy));
  }
  if (name.name == "aten::_local_scalar_dense") {
    return KernelFunction::makeFromUnboxedFunction(TORCH_FN(observeScalarRead));
  }
  return KernelFunction::makeFromBoxedFunction<&observe<false>>();
}

}  // namespace highwater::probe
