#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

namespace highwater::simmps {

/// Order in which objects prepare for a fork, which is also their lock order: an earlier one may
/// lock a later one, never the reverse. After the fork they run in reverse order.
enum class ForkOrder : std::uint8_t {
  Jobs,  ///< jobs may take any lock
  Generator,
  Machine,
  Graphs,
  Events,
  Memory,
  Queue,
  Notices,
  Ledger
};

/// Runs callbacks before and after each fork() of the process, while this object exists. A child
/// has only the thread that forked, so a lock that another thread holds would stay locked for ever.
/// Make it the last member of its object, since any thread may fork at any time.
class ForkSteps {
 public:
  /// The callbacks; any may be empty. `before` and `inParent` run in the forking process, `inChild`
  /// in the child.
  struct Steps {
    std::function<void()> before = {};
    std::function<void()> inParent = {};
    std::function<void()> inChild = {};
  };

  /// Registers `steps`; the destructor removes them. Call neither while holding a lock that any of
  /// the callbacks takes.
  ForkSteps(ForkOrder order, Steps steps);
  /// Holds `lock` during each fork, so that the child finds it free and its data consistent.
  ForkSteps(ForkOrder order, std::mutex& lock);
  ~ForkSteps();
  ForkSteps(const ForkSteps&) = delete;
  ForkSteps& operator=(const ForkSteps&) = delete;

 private:
  friend class ForkRegistry;
  const ForkOrder order_;
  const Steps steps_;
};

}  // namespace highwater::simmps
