#pragma once

#include <unistd.h>

#include <utility>

namespace highwater::session {

/// Owns a file descriptor and closes it. Holds -1 if it has no descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes ownership of `fd`.
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  /// The descriptor, or -1 if there is none. Does not give up ownership.
  [[nodiscard]] int get() const { return fd_; }
  /// True if it holds a descriptor.
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  /// Closes the descriptor, if there is one, and holds -1 from then on.
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace highwater::session
