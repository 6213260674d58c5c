#include "probe/op_observer.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/TensorImpl.h>

#include <atomic>
#include <memory>

#include "probe/op_stack.h"

#ifndef NDEBUG
#error "RecordFunction::inputs() asserts against a release libtorch: compile this with NDEBUG"
#endif

namespace highwater::probe {
namespace {

std::atomic<std::uint64_t> activeGeneration{0};

/// One thread's op stack; remade when another observer was installed since.
OpStack* threadStack() {
  struct Own {
    std::uint64_t generation = 0;
    std::unique_ptr<OpStack> stack;
  };
  thread_local Own own;
  Recorder* recorder = Recorder::active();
  if (!recorder) return nullptr;
  const std::uint64_t generation = activeGeneration.load(std::memory_order_acquire);
  if (own.generation != generation) {
    own.stack = std::make_unique<OpStack>(*recorder, recorder->lane());
    own.generation = generation;
  }
  return own.stack.get();
}

/// What autograd knows an op by, or a node of backward.
OpLink linkOf(const at::RecordFunction& function) {
  const bool isNode = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  return {isNode, isNode ? function.forwardThreadId() : function.threadId(), function.seqNr()};
}

bool isOnMps(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_mps();
}

const at::Tensor* tensorAt(c10::ArrayRef<const c10::IValue> inputs, std::size_t index) {
  if (index >= inputs.size() || !inputs[index].isTensor()) return nullptr;
  const at::Tensor& tensor = inputs[index].toTensor();
  return tensor.defined() ? &tensor : nullptr;
}

std::uint64_t bytesOf(const at::Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.numel()) * tensor.itemsize();
}

/// A copy between the devices; `blocks` as PyTorch's MPS copies do.
OpWait copyWait(const at::Tensor& from, const at::Tensor& to, bool blocks) {
  if (isOnMps(from) && to.is_cpu()) {
    return {events::SyncKind::CopyToHost, bytesOf(from), blocks};
  }
  if (from.is_cpu() && isOnMps(to)) {
    return {events::SyncKind::CopyToDevice, bytesOf(from), blocks};
  }
  return {};
}

std::uint64_t bytesMovedToCpu(c10::ArrayRef<const c10::IValue> inputs) {
  std::uint64_t bytes = 0;
  for (const c10::IValue& input : inputs) {
    if (!input.isTensorList()) continue;
    for (const at::Tensor& tensor : input.toTensorList()) {
      if (isOnMps(tensor)) bytes += bytesOf(tensor);
    }
  }
  return bytes;
}

OpWait waitOf(OpTag tag, c10::ArrayRef<const c10::IValue> inputs) {
  if (tag == OpTag::kOther) return {};
  if (tag == OpTag::kToCpu) return {events::SyncKind::Fallback, bytesMovedToCpu(inputs)};
  const at::Tensor* first = tensorAt(inputs, 0);
  if (!first) return {};
  if (tag == OpTag::kScalarRead || tag == OpTag::kNonzero) {
    if (!isOnMps(*first)) return {};
    if (tag == OpTag::kNonzero) return {events::SyncKind::Nonzero, bytesOf(*first)};
    return {events::SyncKind::ScalarRead, first->itemsize()};
  }
  const at::Tensor* second = tensorAt(inputs, 1);
  if (!second) return {};
  if (tag == OpTag::kCopyFromAndResize) return copyWait(*first, *second, true);
  const bool nonBlocking = inputs.size() > 2 && inputs[2].isBool() && inputs[2].toBool();
  return tag == OpTag::kCopy ? copyWait(*second, *first, !nonBlocking)
                             : copyWait(*first, *second, !nonBlocking);
}

std::unique_ptr<at::ObserverContext> onBegin(const at::RecordFunction& function) {
  // An asynchronous op may end on another thread: it does not belong on this one's stack.
  if (function.isAsync()) return nullptr;
  if (OpStack* stack = threadStack()) {
    const NameCache::Entry name = stack->name(function.name());
    stack->begin(name, waitOf(static_cast<OpTag>(name.tag), function.inputs()), linkOf(function));
  }
  return nullptr;
}

void onEnd(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  if (function.isAsync()) return;
  if (OpStack* stack = threadStack()) stack->end();
}

}  // namespace

OpObserver::OpObserver(Recorder& recorder) {
  activeGeneration.fetch_add(1, std::memory_order_acq_rel);
  Recorder::setActive(&recorder);
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(&onBegin, &onEnd)
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OpObserver::~OpObserver() {
  at::removeCallback(handle_);
  Recorder::setActive(nullptr);
}

}  // namespace highwater::probe
