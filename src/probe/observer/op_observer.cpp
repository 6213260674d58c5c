#include "probe/observer/op_observer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <memory>

#include "probe/observer/op_stack.h"
#include "probe/observer/op_tensors.h"
#include "probe/observer/thread_op_stack.h"
#include "probe/observer/torch_autograd.h"

#ifndef NDEBUG
#error "RecordFunction::inputs() asserts against a release libtorch: compile this with NDEBUG"
#endif

namespace highwater::probe {
namespace {

/// An operator's name belongs to its schema, which is permanent; any other name is the function's
/// own text. Before the call, only a function with a schema knows its number of outputs.
[[gnu::always_inline]] inline NameCache::Entry& nameOf(OpStack& stack,
                                                       const at::RecordFunction& function) {
  return stack.name(function.name(), [&function] { return function.num_outputs() > 0; });
}

/// The calling thread's stack and, for an ordinary op whose name is known (nearly all are), the
/// name. Null name: take the general path.
struct Ordinary {
  OpStack* stack;
  NameCache::Entry* name = nullptr;
};
[[gnu::always_inline]] inline Ordinary ordinary(const at::RecordFunction& function) {
  const char* text = function.name();
  OpStack* stack = readyThreadOpStack();
  if (!stack || function.scope() != at::RecordScope::FUNCTION) [[unlikely]] {
    return {stack};
  }
  NameCache::Entry* name = stack->nameByAddress(text);
  return {stack, name && OpStack::isOrdinary(*name) ? name : nullptr};
}

// Out of line, so that the fast path does not save the registers that this needs.
[[gnu::noinline]] void beginGeneral(const at::RecordFunction& function) {
  if (OpStack* stack = threadOpStack()) {
    const auto inputs = function.inputs();
    NameCache::Entry& name = nameOf(*stack, function);
    const OpDetail detail = detailOf(inputs, stack->shapeTexts());
    const bool isNode = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
    stack->beginRecorded(name, waitOf(static_cast<OpTag>(name.tag), inputs), isNode, detail);
  }
}

// Async functions may end on another thread; their scopes are not requested.
std::unique_ptr<at::ObserverContext> onBegin(const at::RecordFunction& function) {
  if (const Ordinary op = ordinary(function); op.name) [[likely]] {
    op.stack->beginOrdinary(*op.name, detailOf(function.inputs(), op.stack->shapeTexts()));
  } else {
    beginGeneral(function);
  }
  return nullptr;
}

void onEnd(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
  if (OpStack* stack = threadOpStack()) stack->end(currentAllocated());
}

}  // namespace

/// Listens for operators that are new, and for those that are deregistered: the dispatcher frees
/// their names.
class OpObserver::Registrations {
 public:
  Registrations()
      : listening_(
            c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>())) {}

 private:
  class Listener : public c10::OpRegistrationListener {
   public:
    // The dispatcher is locked: the kernel must wait.
    void onOperatorRegistered(const c10::OperatorHandle& /*op*/) override {
      WatchedOps::noteNewOp();
    }
    void onOperatorDeregistered(const c10::OperatorHandle& /*op*/) override {
      forgetNameAddressesOfThreads();
    }
  };
  c10::RegistrationHandleRAII listening_;
};

OpObserver::OpObserver(Recorder& recorder, DeviceKind device)
    : recorder_(recorder),
      device_(device),
      registrations_(std::make_unique<Registrations>()),
      census_(recorder) {
  watchDevice(device);
  CallSiteCache::warmUp();
  recorder.setAutograd(torchAutograd());
  setStacksRecorder(&recorder);
  callback_ = at::addGlobalCallback(
      at::RecordFunctionCallback(&onBegin, &onEnd)
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  at::disableCallback(callback_);
  follow(recorder.level());
  recorder.onLevel([this](events::ProbeLevel level) { follow(level); });
  recorder.onStep(
      [this](std::uint32_t step, StepBorder border) { census_.noteBorder(step, border); });
}

OpObserver::~OpObserver() {
  recorder_.onLevel(nullptr);
  recorder_.onStep(nullptr);
  at::removeCallback(callback_);
  thisThread_.reset();
  watchedOps_.reset();
  setStacksRecorder(nullptr);
}

void OpObserver::silence() noexcept {
  WatchedOps::silence();
  CensusOps::silence();
  Recorder::setActive(nullptr);
  forgetNameAddressesOfThreads();
}

void OpObserver::follow(events::ProbeLevel level) {
  if (level != events::ProbeLevel::Ops) at::disableCallback(callback_);
  if (level == events::ProbeLevel::Off) {
    thisThread_.reset();
    watchedOps_.reset();
  } else if (!watchedOps_) {
    watchedOps_.emplace(recorder_, device_);
    thisThread_.emplace(recorder_);
  }
  if (level == events::ProbeLevel::Ops) at::reenableCallback(callback_);
  if (level == events::ProbeLevel::Monitor && WatchedOps::count() == 0) {
    recorder_.mark(events::MarkerKind::Note, recorder_.step(), 0, 0,
                   "waits and fallbacks are not recorded at level monitor: something else in this "
                   "process uses PyTorch's dispatch key TESTING_ONLY_GenericMode; record at level "
                   "ops instead");
  }
}

}  // namespace highwater::probe
