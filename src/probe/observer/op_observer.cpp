#include "probe/observer/op_observer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <string>

#include "probe/observer/autograd_thread.h"
#include "probe/observer/op_stack.h"
#include "probe/observer/op_tensors.h"

#ifndef NDEBUG
#error "RecordFunction::inputs() asserts against a release libtorch: compile this with NDEBUG"
#endif

namespace highwater::probe {
namespace {

// Bumped to invalidate every thread's cached op stack: another observer, none, or an operator was
// deregistered whose name a thread may know by its address.
std::atomic<std::uint64_t> activeGeneration{0};
std::atomic<std::uint64_t> observers{0};  // number of observers installed so far

/// A thread's op stack, as the callbacks find it. Trivially constructed, so that access is cheap.
struct Known {
  std::uint64_t generation = 0;
  OpStack* stack = nullptr;
  bool ended = false;  // the thread is ending
};
constinit thread_local Known known;

struct Owned {
  std::unique_ptr<OpStack> stack;
  std::uint64_t observer = 0;  // the observer that the stack was made for
  ~Owned() { known = {0, nullptr, true}; }
};

/// "autograd (mps)" on a thread of autograd's engine; "" on any other.
std::string engineThreadName() {
  switch (autogradThread()) {
    case AutogradThread::kNone:
      return {};
    case AutogradThread::kNested:
      return "autograd (nested)";
    case AutogradThread::kDevice:
      break;
  }
  const std::string device(watchedDevice());
  return device.empty() ? "autograd" : "autograd (" + device + ")";
}

// Out of line, so that the fast path does not save the registers that this needs.
[[gnu::noinline, gnu::cold]] OpStack* renewThreadStack(std::uint64_t generation) {
  Recorder* recorder = Recorder::active();
  if (!recorder || known.ended) return nullptr;
  thread_local Owned owned;
  const std::uint64_t observer = observers.load(std::memory_order_acquire);
  if (owned.stack && owned.observer == observer) {
    owned.stack->forgetNameAddresses();  // ops may be open on it
  } else {
    if (!recorder->hasLane()) recorder->nameThread(engineThreadName());
    owned.stack = std::make_unique<OpStack>(*recorder, recorder->lane());
    owned.observer = observer;
  }
  known = {generation, owned.stack.get(), false};
  return known.stack;
}

/// The calling thread's stack; a new one after another observer was installed.
[[gnu::always_inline]] inline OpStack* threadStack() {
  const std::uint64_t generation = activeGeneration.load(std::memory_order_acquire);
  return known.generation == generation ? known.stack : renewThreadStack(generation);
}

/// An operator's name belongs to its schema, which is permanent; any other name is the function's
/// own text. Before the call, only a function with a schema knows its number of outputs.
[[gnu::always_inline]] inline NameCache::Entry& nameOf(OpStack& stack,
                                                       const at::RecordFunction& function) {
  return stack.name(function.name(), [&function] { return function.num_outputs() > 0; });
}

[[gnu::always_inline]] inline OpWait waitOf(const NameCache::Entry& name,
                                            c10::ArrayRef<const c10::IValue> inputs) {
  const auto tag = static_cast<OpTag>(name.tag);
  return tag == OpTag::kOther ? OpWait{} : waitOf(tag, inputs);
}

/// Autograd's identity of an op or of a backward node.
[[gnu::always_inline]] inline OpLink linkOf(const at::RecordFunction& function) {
  const bool isNode = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  return {isNode, isNode ? function.forwardThreadId() : function.threadId(), function.seqNr()};
}

/// The calling thread's stack and, for an ordinary op whose name is known (nearly all are), the
/// name. Null name: take the general path.
struct Ordinary {
  OpStack* stack;
  NameCache::Entry* name = nullptr;
};
[[gnu::always_inline]] inline Ordinary ordinary(const at::RecordFunction& function) {
  const char* text = function.name();
  OpStack* stack = known.stack;
  if (known.generation != activeGeneration.load(std::memory_order_acquire) || !stack ||
      function.scope() != at::RecordScope::FUNCTION) [[unlikely]] {
    return {stack};
  }
  NameCache::Entry* name = stack->nameByAddress(text);
  return {stack, name && OpStack::isOrdinary(*name) ? name : nullptr};
}

// Out of line, so that the fast path does not save the registers that these need.
[[gnu::noinline]] void beginGeneral(const at::RecordFunction& function) {
  if (OpStack* stack = threadStack()) {
    NameCache::Entry& name = nameOf(*stack, function);
    stack->begin(name, waitOf(name, function.inputs()), linkOf(function));
  }
}

[[gnu::noinline]] void beginGeneralRecorded(const at::RecordFunction& function) {
  if (OpStack* stack = threadStack()) {
    const auto inputs = function.inputs();
    NameCache::Entry& name = nameOf(*stack, function);
    const OpDetail detail = detailOf(inputs, stack->shapeTexts());
    stack->begin(name, waitOf(name, inputs), linkOf(function), detail);
  }
}

// Async functions may end on another thread; their scopes are not requested.
std::unique_ptr<at::ObserverContext> onBegin(const at::RecordFunction& function) {
  if (const Ordinary op = ordinary(function); op.name) [[likely]] {
    op.stack->beginOrdinary(*op.name, function.threadId(), function.seqNr());
  } else {
    beginGeneral(function);
  }
  return nullptr;
}

void onEnd(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
  if (OpStack* stack = threadStack()) stack->end();
}

std::unique_ptr<at::ObserverContext> onOpBegin(const at::RecordFunction& function) {
  if (const Ordinary op = ordinary(function); op.name) [[likely]] {
    const OpDetail detail = detailOf(function.inputs(), op.stack->shapeTexts());
    op.stack->beginOrdinary(*op.name, function.threadId(), function.seqNr(), detail);
  } else {
    beginGeneralRecorded(function);
  }
  return nullptr;
}

void onOpEnd(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
  if (OpStack* stack = threadStack()) stack->end(currentAllocated());
}

}  // namespace

/// Listens for operators that are deregistered: the dispatcher frees their names.
class OpObserver::Deregistrations {
 public:
  Deregistrations()
      : listening_(
            c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>())) {}

 private:
  class Listener : public c10::OpRegistrationListener {
   public:
    void onOperatorRegistered(const c10::OperatorHandle& /*op*/) override {}
    void onOperatorDeregistered(const c10::OperatorHandle& /*op*/) override {
      activeGeneration.fetch_add(1, std::memory_order_acq_rel);
    }
  };
  c10::RegistrationHandleRAII listening_;
};

OpObserver::OpObserver(Recorder& recorder, DeviceKind device)
    : recorder_(recorder), deregistrations_(std::make_unique<Deregistrations>()) {
  watchDevice(device);
  CallSiteCache::warmUp();
  // In this order: a callback that still runs for the previous observer must not mistake its stack
  // for one of this recorder.
  observers.fetch_add(1, std::memory_order_acq_rel);
  Recorder::setActive(&recorder);
  activeGeneration.fetch_add(1, std::memory_order_acq_rel);
  const auto add = [](auto begin, auto end) {
    const auto handle = at::addGlobalCallback(
        at::RecordFunctionCallback(begin, end)
            .needsInputs(true)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
    at::disableCallback(handle);
    return handle;
  };
  monitor_ = add(&onBegin, &onEnd);
  ops_ = add(&onOpBegin, &onOpEnd);
  follow(recorder.level());
  recorder.onLevel([this](events::ProbeLevel level) { follow(level); });
}

OpObserver::~OpObserver() {
  recorder_.onLevel(nullptr);
  at::removeCallback(monitor_);
  at::removeCallback(ops_);
  Recorder::setActive(nullptr);
  activeGeneration.fetch_add(1, std::memory_order_acq_rel);
}

void OpObserver::follow(events::ProbeLevel level) {
  // Disable before enabling, so that no op is observed by both.
  const bool ops = level == events::ProbeLevel::Ops;
  const bool monitor = level == events::ProbeLevel::Monitor;
  if (!ops) at::disableCallback(ops_);
  if (!monitor) at::disableCallback(monitor_);
  if (ops) at::reenableCallback(ops_);
  if (monitor) at::reenableCallback(monitor_);
}

}  // namespace highwater::probe
