#pragma once

#include <csignal>

namespace highwater {

/// Blocks the signals of this thread while it exists, but not those that a fault of the thread
/// itself raises. A thread that is started meanwhile begins with this mask, and keeps it: so it
/// takes none of the signals that are sent to a program that is not ours, which may wait for them
/// elsewhere.
class BlockedProgramSignals {
 public:
  BlockedProgramSignals();
  ~BlockedProgramSignals();
  BlockedProgramSignals(const BlockedProgramSignals&) = delete;
  BlockedProgramSignals& operator=(const BlockedProgramSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace highwater
