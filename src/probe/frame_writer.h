#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <span>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::probe {

/// Writes whole frames to a file descriptor (socket pair, local socket, pipe), from any thread.
/// Waits where the reader is slow. The process must ignore SIGPIPE where the descriptor is a pipe.
class FrameWriter {
 public:
  /// Does not own the descriptor. `onHostGone` is called once, by the thread that found out.
  explicit FrameWriter(int fd, std::function<void()> onHostGone = {});

  /// kEnded where the host is gone; nothing is written then, now and later.
  Result<void> send(const Message& message);

  [[nodiscard]] bool hostGone() const { return gone_.load(std::memory_order_acquire); }
  /// Bytes written so far.
  [[nodiscard]] std::uint64_t bytesWritten() const { return written_.load(); }

 private:
  [[nodiscard]] bool writeAll(std::span<const std::uint8_t> bytes);

  int fd_;
  std::function<void()> onHostGone_;
  std::mutex mutex_;
  std::atomic<bool> gone_{false};
  std::atomic<std::uint64_t> written_{0};
};

}  // namespace highwater::probe
