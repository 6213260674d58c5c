#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "simmps/policy/device_queue.h"
#include "simmps/policy/heap_allocator.h"

/// Helpers of the tests of the simulated device without libtorch.
namespace highwater::simmps::test {

/// The block of an allocation; nullptr if it was refused.
inline DeviceBlock* blockOf(const HeapAllocator::Outcome& outcome) {
  const auto* block = std::get_if<DeviceBlock*>(&outcome);
  return block ? *block : nullptr;
}

/// Options of an allocator whose blocks the jobs of `queue` use, as in device.cpp.
inline MemoryOptions optionsWith(DeviceQueue& queue, Ledger* ledger = nullptr) {
  MemoryOptions options;
  options.jobs.submitted = [&queue] { return queue.submitted(); };
  options.jobs.finished = [&queue] { return queue.finished(); };
  options.jobs.wait = [&queue] { queue.wait(); };
  options.ledger = ledger;
  return options;
}

/// Jobs that stay pending until somebody waits.
struct Jobs {
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  int waits = 0;

  MemoryOptions options() {
    MemoryOptions options;
    options.jobs.submitted = [this] { return submitted; };
    options.jobs.finished = [this] { return finished; };
    options.jobs.wait = [this] {
      ++waits;
      finished = submitted;
    };
    return options;
  }
};

/// Runs `action` in a forked child. Returns the child's exit code, or the negative number of the
/// signal that ended it: SIGALRM if it hangs.
inline int inChild(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(action());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace highwater::simmps::test
