#pragma once

#include <sys/types.h>

namespace highwater::bench {

/// Another process that reads from a pipe and discards the data: what a window costs the worker,
/// without the window's own work.
class ReaderProcess {
 public:
  /// Call before the process has a second thread. If fork fails, writes fail.
  ReaderProcess();
  /// Closes the pipe and waits for the process to end.
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// The write end of the pipe; -1 if there is none.
  [[nodiscard]] int fd() const { return writeEnd_; }

 private:
  int writeEnd_ = -1;
  pid_t child_ = -1;
};

}  // namespace highwater::bench
