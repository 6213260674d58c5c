#pragma once

#include <sys/types.h>

#include <cstdint>

namespace highwater::wire {

/// A descriptor, and the file that it stood for when it was handed over. In a program that is not
/// ours the number may stand for a file of the user's later: code that becomes a daemon closes all
/// descriptors, and what it opens next gets their numbers. So whoever writes to the descriptor,
/// reads from it, shuts it down or closes it asks isOurs() before. Another thread may still close
/// it between the question and the use. The descriptor is not owned.
class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  /// Remembers which file `fd` stands for now; one that is not open is never ours.
  explicit OwnDescriptor(int fd) noexcept;

  /// The number; -1 if it was not open.
  [[nodiscard]] int get() const { return fd_; }
  /// Whether it was a socket when it was handed over.
  [[nodiscard]] bool isSocket() const { return isSocket_; }
  /// Whether the number still stands for that file, by device and inode. Async-signal-safe, and
  /// keeps errno.
  [[nodiscard]] bool isOurs() const noexcept;
  /// Shuts a socket down in both directions, if it is still ours.
  void shutDown() const noexcept;
  /// Closes the descriptor, if it is still ours.
  void close() const noexcept;

 private:
  int fd_ = -1;
  bool isSocket_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Moves a descriptor to a high number, which closes on exec: a program expects the low ones for
/// itself. Returns the new number; `fd` itself where the system gives no other.
[[nodiscard]] int moveToHighNumber(int fd) noexcept;

}  // namespace highwater::wire
