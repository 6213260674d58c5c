#include "simmps/policy/process_fork.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace highwater::simmps {

/// All callbacks, by order and then by age. Its own lock is held during a fork too.
class ForkRegistry {
 public:
  static ForkRegistry& instance() {
    // Leaked: a process may fork during its exit.
    static auto* const registry = new ForkRegistry;
    return *registry;
  }

  void add(const ForkSteps& steps) {
    const std::lock_guard lock(mutex_);
    const auto later = [](ForkOrder order, const ForkSteps* each) { return order < each->order_; };
    all_.insert(std::upper_bound(all_.begin(), all_.end(), steps.order_, later), &steps);
  }
  void remove(const ForkSteps& steps) {
    const std::lock_guard lock(mutex_);
    all_.erase(std::find(all_.begin(), all_.end(), &steps));
  }

 private:
  using Step = std::function<void()> ForkSteps::Steps::*;

  ForkRegistry() {
    ::pthread_atfork([] { instance().before(); },
                     [] { instance().after(&ForkSteps::Steps::inParent); },
                     [] { instance().after(&ForkSteps::Steps::inChild); });
  }

  void before() {
    mutex_.lock();
    for (const ForkSteps* each : all_) call(*each, &ForkSteps::Steps::before);
  }
  void after(Step step) {
    for (auto each = all_.rbegin(); each != all_.rend(); ++each) call(**each, step);
    mutex_.unlock();
  }
  static void call(const ForkSteps& steps, Step step) {
    if (const auto& action = steps.steps_.*step) action();
  }

  std::mutex mutex_;
  std::vector<const ForkSteps*> all_;
};

ForkSteps::ForkSteps(ForkOrder order, Steps steps) : order_(order), steps_(std::move(steps)) {
  ForkRegistry::instance().add(*this);
}

ForkSteps::ForkSteps(ForkOrder order, std::mutex& lock)
    : ForkSteps(order, {[&lock] { lock.lock(); }, [&lock] { lock.unlock(); },
                        [&lock] { lock.unlock(); }}) {}

ForkSteps::~ForkSteps() {
  ForkRegistry::instance().remove(*this);
}

}  // namespace highwater::simmps
