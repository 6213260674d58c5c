#include "probe/observer/watched_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "probe/observer/op_stack.h"
#include "probe/observer/op_table.h"
#include "probe/observer/thread_op_stack.h"
#include "probe/observer/unmet_threads.h"
#include "probe/observer/watched_kernels.h"

namespace highwater::probe {
namespace {

using Names = std::unordered_set<c10::OperatorName>;

/// Of `names`, the ops that PyTorch may run on the CPU, and those that call such an op of the same
/// name: a fallback of `put_` in `put` has the name that the user called.
Names opsThatMayFallBack(const std::vector<c10::OperatorName>& names, OpTable& table) {
  Names found;
  std::unordered_set<std::string_view> bases;
  for (const c10::OperatorName& name : names) {
    const MpsRow row = table.row(name);
    if (row != MpsRow::kFallback && row != MpsRow::kAlwaysFallsBack) continue;
    found.insert(name);
    bases.insert(baseName(name.name));
  }
  for (const c10::OperatorName& name : names) {
    const MpsRow row = table.row(name);
    const bool callsOthers = row == MpsRow::kParts || row == MpsRow::kUnseenParts;
    if (callsOthers && bases.contains(baseName(name.name))) found.insert(name);
  }
  return found;
}

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

  [[nodiscard]] std::size_t count() const { return kernelsObserve ? watched_.size() : 0; }
  void noteNewOp() { hasNewOps_ = true; }
  bool watchThread(bool on);

 private:
  void registerNewOps();

  std::mutex mutex_;  // of the registrations
  DeviceKind device_ = DeviceKind::kMps;
  // The fallthrough comes first and stays, so that a thread may include the key at any time.
  std::optional<c10::RegistrationHandleRAII> fallthrough_;
  std::vector<c10::RegistrationHandleRAII> kernels_;
  Names watched_;
  OpTable table_;
  std::atomic<bool> hasNewOps_{false};
  std::atomic<int> threads_{0};
};

/// Has a thread watched until it ends.
class WatchedToItsEnd {
 public:
  WatchedToItsEnd() = default;
  ~WatchedToItsEnd() { release(); }
  WatchedToItsEnd(const WatchedToItsEnd&) = delete;
  WatchedToItsEnd& operator=(const WatchedToItsEnd&) = delete;

  /// Returns true if the thread was not watched and now is. It may have been before: some guards
  /// of PyTorch's undo it.
  bool watch() {
    release();
    isOurs_ = !Registry::ofProcess().watchThread(true);
    return isOurs_;
  }

 private:
  void release() {
    if (isOurs_) (void)Registry::ofProcess().watchThread(false);
    isOurs_ = false;
  }

  bool isOurs_ = false;
};

bool watchUntilTheThreadEnds() noexcept {
  thread_local WatchedToItsEnd thisThread;
  return thisThread.watch();
}

void Registry::registerKernels(DeviceKind device) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (!fallthrough_) {
    if (dispatcher.hasBackendFallbackForDispatchKey(kWatchKey)) return;
    fallthrough_.emplace(dispatcher.registerFallback(
        kWatchKey, c10::KernelFunction::makeFallthrough(), "Highwater: an op that is not watched"));
  }
  device_ = device;
  registerNewOps();
  kernelsObserve = true;
  noticeUnmetThreads(&watchUntilTheThreadEnds);
}

void Registry::registerNewOps() {
  const std::lock_guard lock(mutex_);
  hasNewOps_ = false;
  auto& dispatcher = c10::Dispatcher::singleton();
  const std::vector<c10::OperatorName> names = dispatcher.getAllOpNames();
  const Names fallBack = device_ == DeviceKind::kMps ? opsThatMayFallBack(names, table_) : Names();
  for (const c10::OperatorName& name : names) {
    const bool mayFallBack = fallBack.contains(name);
    if (watched_.contains(name) || (!mayFallBack && !mayWait(name.name, name.overload_name))) {
      continue;
    }
    const auto op = dispatcher.findSchema(name);
    if (!op || op->hasKernelForDispatchKey(kWatchKey)) continue;
    kernels_.push_back(dispatcher.registerImpl(name, kWatchKey, watchedKernel(name, mayFallBack),
                                               std::nullopt, nullptr, "Highwater: a watched op"));
    watched_.insert(name);
  }
}

void Registry::deregisterKernels() {
  kernelsObserve = false;
  if (threads_ > 0) return;
  const std::lock_guard lock(mutex_);
  kernels_.clear();
  watched_.clear();
  // Our kernel may have kept the name of an operator that is gone.
  forgetNameAddressesOfThreads();
}

bool Registry::watchThread(bool on) {
  using c10::impl::tls_is_dispatch_key_included;
  using c10::impl::tls_set_dispatch_key_included;
  if (!on) {
    tls_set_dispatch_key_included(kWatchKey, false);
    --threads_;
    return true;
  }
  if (hasNewOps_.load(std::memory_order_relaxed) && kernelsObserve) [[unlikely]] {
    registerNewOps();
  }
  if (tls_is_dispatch_key_included(kWatchKey)) return true;
  // Counted before it looks, as deregisterKernels() looks after it has said so: one of the two sees
  // the other.
  ++threads_;
  if (!kernelsObserve) {
    --threads_;
    return true;
  }
  tls_set_dispatch_key_included(kWatchKey, true);
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

void WatchedOps::noteNewOp() {
  Registry::ofProcess().noteNewOp();
}

}  // namespace highwater::probe
