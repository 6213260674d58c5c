#pragma once

#include <cstdint>

namespace highwater::probe {

/// Where autograd is on the calling thread.
struct AutogradPlace {
  /// The thread, as RecordFunction numbers threads; 0: unknown.
  std::uint64_t thread = 0;
  /// The sequence number that the thread's next backward node will have; -1: unknown.
  std::int64_t nextSequence = -1;
  /// Identifies the backward node that the thread runs, while it runs; null outside of backward.
  const void* node = nullptr;
};

/// The backward node that the calling thread runs, with the thread and the sequence number of the
/// forward op that created it. `node` is null outside of backward.
struct RunningNode {
  const void* node = nullptr;
  std::uint64_t forwardThread = 0;
  std::int64_t sequence = -1;  ///< -1: no forward op, as of AccumulateGrad
};

/// Access to autograd for the part of the probe that is built without libtorch. The defaults answer
/// that nothing is known.
struct Autograd {
  AutogradPlace (*place)() noexcept = []() noexcept { return AutogradPlace{}; };
  RunningNode (*runningNode)() noexcept = []() noexcept { return RunningNode{}; };
};

}  // namespace highwater::probe
