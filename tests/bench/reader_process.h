#pragma once

#include <sys/types.h>

namespace highwater::bench {

/// Another process that reads what is written to a pipe and forgets it: what a window costs the
/// worker that it watches, less the window.
class ReaderProcess {
 public:
  /// Before the process has more than one thread. A write fails where no process could be made.
  ReaderProcess();
  /// Hangs up and waits for its end.
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// The end to write to; -1 where there is none.
  [[nodiscard]] int fd() const { return writeEnd_; }

 private:
  int writeEnd_ = -1;
  pid_t child_ = -1;
};

}  // namespace highwater::bench
