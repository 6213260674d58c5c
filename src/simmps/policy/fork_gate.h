#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "simmps/policy/process_fork.h"

namespace highwater::simmps {

/// Keeps forks out of the jobs of one thread: a fork waits until the running job has ended, and no
/// job starts until the fork is over. A job runs libtorch's CPU kernels, whose locks ForkSteps
/// cannot know (the guard of a function's static variable among them); a child that is forked while
/// a job holds one finds it locked for ever.
class ForkGate {
 public:
  /// A fork goes ahead after `patience` although the job still runs: the job may itself wait for
  /// something that the forking thread holds, such as Python's interpreter lock.
  explicit ForkGate(std::chrono::milliseconds patience);

  /// Call before a job and after it, on the thread that runs it. enter() blocks during a fork.
  void enter();
  void leave();

 private:
  void close();
  void open();
  void openInChild();

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  /// Held by pointer, so that a forked child can replace them.
  struct Signals {
    std::condition_variable left;
    std::condition_variable opened;
  };
  std::unique_ptr<Signals> signals_ = std::make_unique<Signals>();
  bool closed_ = false;
  std::thread::id inside_{};  ///< thread whose job runs; none: no job does
  const ForkSteps fork_;
};

}  // namespace highwater::simmps
