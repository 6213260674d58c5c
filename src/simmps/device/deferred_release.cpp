#include "simmps/device/deferred_release.h"

#include <atomic>
#include <cstdlib>
#include <utility>

namespace highwater::simmps {
namespace {

struct Returned {
  at::Tensor tensor;
  Returned* next = nullptr;
};

// No mutex: the process may fork while the device's thread holds it.
std::atomic<Returned*> gReturned{nullptr};
std::atomic<bool> gExiting{false};

void giveBack(Returned* lent) {
  lent->next = gReturned.load(std::memory_order_relaxed);
  while (!gReturned.compare_exchange_weak(lent->next, lent, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

/// Runs before finishDevice(), whose handler was registered earlier.
void watchExit() {
  static const int registered = std::atexit([] { gExiting.store(true); });
  (void)registered;
}

}  // namespace

std::shared_ptr<at::Tensor> deferRelease(at::Tensor host) {
  watchExit();
  auto* lent = new Returned{std::move(host)};
  const std::shared_ptr<Returned> owner(lent, &giveBack);
  return {owner, &lent->tensor};
}

void releaseDeferred() {
  if (!gReturned.load(std::memory_order_relaxed) || gExiting.load()) return;
  Returned* next = gReturned.exchange(nullptr, std::memory_order_acquire);
  while (next) {
    const std::unique_ptr<Returned> last(next);
    next = last->next;
  }
}

}  // namespace highwater::simmps
