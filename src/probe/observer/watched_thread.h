#pragma once

#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Has the ops of the calling thread watched by the observer, if there is one, from construction to
/// destruction: see WatchedOps. A thread that is watched already stays so. Autograd's threads
/// inherit it from the thread that calls backward.
class WatchedThread {
 public:
  explicit WatchedThread(Recorder& recorder) : watch_(recorder.threadWatch()) {
    if (watch_ && watch_(true)) watch_ = nullptr;
  }
  ~WatchedThread() {
    if (watch_) (void)watch_(false);
  }
  WatchedThread(const WatchedThread&) = delete;
  WatchedThread& operator=(const WatchedThread&) = delete;

 private:
  /// Null where this object need not end the watching.
  ThreadWatch watch_;
};

}  // namespace highwater::probe
