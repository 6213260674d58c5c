#include "probe/observer/watched_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "probe/observer/op_stack.h"
#include "probe/observer/op_table.h"
#include "probe/observer/thread_op_stack.h"
#include "probe/observer/unmet_threads.h"
#include "probe/observer/watched_kernels.h"

namespace highwater::probe {
namespace {

/// Of `names`, the ops that PyTorch may run on the CPU, and those that call such an op of the same
/// name: a fallback of `put_` in `put` has the name that the user called.
OpNames opsThatMayFallBack(const std::vector<c10::OperatorName>& names, OpTable& table) {
  OpNames found;
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

  [[nodiscard]] std::size_t count() const { return kernelsObserve ? watchedCount_.load() : 0; }
  void noteNewOp() { hasNewOps_ = true; }
  bool watchThread(bool on);

 private:
  /// Returns the ops that may fall back.
  [[nodiscard]] OpNames registerMissingOps();
  void watchNewOps() noexcept;

  std::thread::id trainingThread_;
  DeviceKind device_ = DeviceKind::kMps;
  // The fallthrough comes first and stays, so that a thread may include the key at any time.
  std::optional<c10::RegistrationHandleRAII> fallthrough_;
  std::vector<c10::RegistrationHandleRAII> kernels_;
  OpNames watched_;
  std::atomic<std::size_t> watchedCount_{0};
  OpTable table_;
  std::atomic<bool> hasNewOps_{false};
  std::atomic<int> threads_{0};
};

constinit thread_local bool threadHasEnded = false;

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

  void release() {
    if (isOurs_) (void)Registry::ofProcess().watchThread(false);
    isOurs_ = false;
  }

 private:
  bool isOurs_ = false;
};

/// The calling thread's; nullptr while it ends.
WatchedToItsEnd* watchedToItsEnd() {
  struct Owned {
    WatchedToItsEnd watched;
    ~Owned() { threadHasEnded = true; }
  };
  if (threadHasEnded) return nullptr;
  thread_local Owned owned;
  return &owned.watched;
}

bool watchUntilTheThreadEnds() noexcept {
  WatchedToItsEnd* mine = watchedToItsEnd();
  return mine && mine->watch();
}

void Registry::registerKernels(DeviceKind device) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (!fallthrough_) {
    if (dispatcher.hasBackendFallbackForDispatchKey(kWatchKey)) return;
    fallthrough_.emplace(dispatcher.registerFallback(
        kWatchKey, c10::KernelFunction::makeFallthrough(), "Highwater: an op that is not watched"));
  }
  device_ = device;
  trainingThread_ = std::this_thread::get_id();
  const OpNames fallBack = registerMissingOps();
  kernelsObserve = true;
  noticeUnmetThreads(fallBack, &watchUntilTheThreadEnds);
}

OpNames Registry::registerMissingOps() {
  hasNewOps_ = false;
  auto& dispatcher = c10::Dispatcher::singleton();
  std::vector<c10::OperatorName> names = dispatcher.getAllOpNames();
  std::erase_if(names, [&](const auto& name) { return !dispatcher.findSchema(name); });
  OpNames fallBack;
  if (device_ == DeviceKind::kMps) fallBack = opsThatMayFallBack(names, table_);
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
  watchedCount_ = watched_.size();
  return fallBack;
}

void Registry::watchNewOps() noexcept {
  if (std::this_thread::get_id() != trainingThread_ || !kernelsObserve) return;
  try {
    (void)registerMissingOps();
  } catch (const std::exception&) {
    // An operator that went meanwhile; the next one that is new has all looked at again.
  }
}

void Registry::deregisterKernels() {
  kernelsObserve = false;
  if (WatchedToItsEnd* mine = watchedToItsEnd()) mine->release();
  if (threads_ > 0) return;
  kernels_.clear();
  watched_.clear();
  watchedCount_ = 0;
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
  if (hasNewOps_.load(std::memory_order_relaxed)) [[unlikely]]
    watchNewOps();
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

void WatchedOps::silence() noexcept {
  kernelsObserve = false;
}

void WatchedOps::noteNewOp() {
  Registry::ofProcess().noteNewOp();
}

}  // namespace highwater::probe
