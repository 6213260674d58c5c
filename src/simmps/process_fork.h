#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

namespace highwater::simmps {

/// The order in which objects prepare for a fork. Who is earlier may take locks of who is later,
/// never the other way round; after the fork it is the reverse order.
enum class ForkOrder : std::uint8_t { Generator, Machine, Graphs, Events, Memory, Queue, Ledger };

/// What an object does around each fork() of the process while this exists: a child has only the
/// thread that forked, and a lock that another one held would stay held for ever. Make it the last
/// member of its object: any thread may fork at any time.
class ForkSteps {
 public:
  /// Each may be empty. `before` and `inParent` run in the forking process, `inChild` in the child.
  struct Steps {
    std::function<void()> before = {};
    std::function<void()> inParent = {};
    std::function<void()> inChild = {};
  };

  /// Not to be called, nor the destructor, with a lock that any of the steps takes.
  ForkSteps(ForkOrder order, Steps steps);
  /// Keeps the lock over the fork, so that the child finds it free and what it guards whole.
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
