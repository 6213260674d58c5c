#include "probe/observer/watched_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "probe/observer/op_stack.h"
#include "probe/observer/op_table.h"
#include "probe/observer/op_tensors.h"
#include "probe/observer/thread_op_stack.h"

namespace highwater::probe {
namespace {

constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// The registrations, which are of the process, and the number of threads that include the key.
class Registry {
 public:
  /// Never destroyed: at the end of the process other threads may still run ops.
  static Registry& ofProcess() {
    static Registry* registry = std::make_unique<Registry>().release();
    return *registry;
  }

  /// Training thread only.
  void registerKernels(DeviceKind device);
  void deregisterKernels();

  [[nodiscard]] bool observes() const { return observes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t count() const { return observes() ? kernels_.size() : 0; }
  bool watchThread(bool on);

 private:
  // The fallthrough comes first and stays, so that a thread may include the key at any time.
  std::optional<c10::RegistrationHandleRAII> fallthrough_;
  std::vector<c10::RegistrationHandleRAII> kernels_;
  OpTable table_;
  std::atomic<bool> observes_{false};
  std::atomic<int> threads_{0};
};

/// Ends the innermost op of the thread's stack, also where the op throws.
struct OpenOp {
  OpenOp() = default;
  // A stack that was made meanwhile, for another observer, has no open op.
  ~OpenOp() {
    if (OpStack* ops = threadOpStack()) ops->end();
  }
  OpenOp(const OpenOp&) = delete;
  OpenOp& operator=(const OpenOp&) = delete;
};

/// The kernel of a watched op: observes it and calls its next kernel. A plain function, so that it
/// may run on while it is deregistered.
template <bool kMayFallBack>
void observe(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
  const void* const from = __builtin_return_address(0);
  const auto next = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  // A thread that opted out of RecordFunction wants no profiler.
  const bool observes = Registry::ofProcess().observes() && at::isRecordFunctionEnabled();
  OpStack* ops = observes ? threadOpStack() : nullptr;
  if (!ops) {
    op.redispatchBoxed(next, stack);
    return;
  }
  // The dispatcher tells when the name goes (forgetNameAddressesOfThreads).
  NameCache::Entry& name = ops->name(op.operator_name().name.c_str(), [] { return true; });
  if (ops->passes(name, from)) {
    op.redispatchBoxed(next, stack);
    return;
  }
  const auto inputs =
      c10::ArrayRef<c10::IValue>(*stack).slice(stack->size() - op.schema().arguments().size());
  ops->begin(name, OpLayer::kDispatch, waitOf(static_cast<OpTag>(name.tag), inputs), kMayFallBack,
             from);
  const OpenOp open;
  op.redispatchBoxed(next, stack);
}

void Registry::registerKernels(DeviceKind device) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (!fallthrough_) {
    if (dispatcher.hasBackendFallbackForDispatchKey(kKey)) return;
    fallthrough_.emplace(dispatcher.registerFallback(kKey, c10::KernelFunction::makeFallthrough(),
                                                     "Highwater: an op that is not watched"));
  }
  if (kernels_.empty()) {
    std::vector<c10::RegistrationHandleRAII> kernels;
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      const auto op = dispatcher.findSchema(name);
      if (!op || op->hasKernelForDispatchKey(kKey)) continue;
      const MpsRow row = device == DeviceKind::kMps ? table_.row(name) : MpsRow::kKernel;
      const bool mayFallBack = row == MpsRow::kFallback || row == MpsRow::kAlwaysFallsBack;
      if (!mayFallBack && !mayWait(name.name, name.overload_name)) continue;
      using c10::KernelFunction;
      kernels.push_back(dispatcher.registerImpl(
          name, kKey,
          mayFallBack ? KernelFunction::makeFromBoxedFunction<&observe<true>>()
                      : KernelFunction::makeFromBoxedFunction<&observe<false>>(),
          std::nullopt, nullptr, "Highwater: a watched op"));
    }
    kernels_ = std::move(kernels);
  }
  observes_ = true;
}

void Registry::deregisterKernels() {
  observes_ = false;
  if (threads_ > 0) return;
  kernels_.clear();
  // Our kernel may have kept the name of an operator that is gone.
  forgetNameAddressesOfThreads();
}

bool Registry::watchThread(bool on) {
  using c10::impl::tls_is_dispatch_key_included;
  using c10::impl::tls_set_dispatch_key_included;
  if (!on) {
    tls_set_dispatch_key_included(kKey, false);
    --threads_;
    return true;
  }
  if (tls_is_dispatch_key_included(kKey)) return true;
  // Counted before it looks, as deregisterKernels() looks after it has said so: one of the two sees
  // the other.
  ++threads_;
  if (!observes_) {
    --threads_;
    return true;
  }
  tls_set_dispatch_key_included(kKey, true);
  return false;
}

bool watchThisThread(bool on) noexcept {
  return Registry::ofProcess().watchThread(on);
}

}  // namespace

WatchedOps::WatchedOps(Recorder& recorder, DeviceKind device) : recorder_(recorder) {
  Registry::ofProcess().registerKernels(device);
  recorder_.setThreadWatch(&watchThisThread);
}

WatchedOps::~WatchedOps() {
  recorder_.setThreadWatch(nullptr);
  Registry::ofProcess().deregisterKernels();
}

std::size_t WatchedOps::count() {
  return Registry::ofProcess().count();
}

}  // namespace highwater::probe
