#include "probe/observer/thread_op_stack.h"

#include <memory>
#include <string>

#include "probe/observer/autograd_thread.h"
#include "probe/observer/op_tensors.h"

namespace highwater::probe {
namespace {

std::atomic<std::uint64_t> observers{0};  // number of observers installed so far

struct OwnedStack {
  std::unique_ptr<OpStack> stack;
  std::uint64_t observer = 0;  // the observer that the stack was made for
  ~OwnedStack() { detail::knownStack = {0, nullptr, true}; }
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

}  // namespace

void setStacksRecorder(Recorder* recorder) {
  // In this order: an op that is still observed for the previous observer must not mistake its
  // stack for one of this recorder.
  if (recorder) observers.fetch_add(1, std::memory_order_acq_rel);
  Recorder::setActive(recorder);
  forgetNameAddressesOfThreads();
}

void forgetNameAddressesOfThreads() {
  detail::activeGeneration.fetch_add(1, std::memory_order_acq_rel);
}

// Out of line, so that the fast path does not save the registers that this needs.
OpStack* detail::renewThreadStack(std::uint64_t generation) {
  // Before the recorder: a stack for an earlier one must not count as one of this observer.
  const std::uint64_t observer = observers.load(std::memory_order_acquire);
  Recorder* recorder = Recorder::active();
  if (!recorder || knownStack.ended) return nullptr;
  thread_local OwnedStack owned;
  if (owned.stack && owned.observer == observer) {
    owned.stack->forgetNameAddresses();  // ops may be open on it
  } else {
    if (!recorder->hasLane()) recorder->nameThread(engineThreadName());
    owned.stack = std::make_unique<OpStack>(*recorder, recorder->lane());
    owned.observer = observer;
  }
  knownStack = {generation, owned.stack.get(), false};
  return knownStack.stack;
}

}  // namespace highwater::probe
