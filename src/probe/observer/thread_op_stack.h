#pragma once

#include <atomic>
#include <cstdint>

#include "probe/observer/op_stack.h"

/// The op stacks of the threads, under one observer at a time.
namespace highwater::probe {

/// Makes `recorder` the one that new stacks write to, or none. Invalidates all threads' stacks:
/// each thread makes a new one at its next op.
void setStacksRecorder(Recorder* recorder);
/// Makes each thread forget the addresses of names before its next op; its stack stays.
void forgetNameAddressesOfThreads();

namespace detail {

// Bumped to invalidate every thread's cached op stack: another observer, none, or an operator was
// deregistered whose name a thread may know by its address.
inline std::atomic<std::uint64_t> activeGeneration{0};

/// A thread's op stack, as its ops find it. Trivially constructed, so that access is cheap.
struct KnownStack {
  std::uint64_t generation = 0;
  OpStack* stack = nullptr;
  bool ended = false;  // the thread is ending
};
inline constinit thread_local KnownStack knownStack;

[[gnu::cold]] OpStack* renewThreadStack(std::uint64_t generation);

}  // namespace detail

/// Returns the calling thread's stack; nullptr where no observer is installed, and while the thread
/// ends. Makes a new one after another observer was installed.
[[gnu::always_inline]] inline OpStack* threadOpStack() {
  const std::uint64_t generation = detail::activeGeneration.load(std::memory_order_acquire);
  const detail::KnownStack& known = detail::knownStack;
  return known.generation == generation ? known.stack : detail::renewThreadStack(generation);
}

/// Returns the calling thread's stack if that needs no work; else nullptr.
[[gnu::always_inline]] inline OpStack* readyThreadOpStack() {
  const detail::KnownStack& known = detail::knownStack;
  return known.generation == detail::activeGeneration.load(std::memory_order_acquire) ? known.stack
                                                                                      : nullptr;
}

/// While false, the kernels of watched ops only call the next one, and no call is observed.
inline std::atomic<bool> kernelsObserve{false};

/// Ends the innermost op of the thread's stack at its destruction, also where the op throws.
class OpenOp {
 public:
  explicit OpenOp(bool isOpen) : isOpen_(isOpen) {}
  // A stack that was made meanwhile, for another observer, has no open op.
  ~OpenOp() {
    if (!isOpen_) return;
    if (OpStack* ops = threadOpStack()) ops->end();
  }
  OpenOp(const OpenOp&) = delete;
  OpenOp& operator=(const OpenOp&) = delete;

 private:
  bool isOpen_;
};

}  // namespace highwater::probe
