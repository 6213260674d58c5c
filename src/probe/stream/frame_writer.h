#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <span>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::probe {

/// Writes whole protocol frames to a file descriptor (socket pair, local socket, pipe). Blocks
/// while the reader is slow. Any thread. The process must ignore SIGPIPE if the descriptor is a
/// pipe.
class FrameWriter {
 public:
  /// Writes to `fd`, which it never closes. Calls `onHostGone` once, in the thread whose write
  /// failed.
  explicit FrameWriter(int fd, std::function<void()> onHostGone = {});

  /// Encodes a message and writes it. Returns kEnded if the host, the reading process, is gone;
  /// this and all later messages are then not sent.
  Result<void> send(const Message& message);

  /// Returns true once a write has failed.
  [[nodiscard]] bool hostGone() const { return gone_.load(std::memory_order_acquire); }
  /// The number of bytes of all frames written so far.
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
