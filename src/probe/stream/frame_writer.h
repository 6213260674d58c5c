#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <span>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "wire/own_descriptor.h"

namespace highwater::probe {

/// Writes whole protocol frames to a file descriptor (socket pair, local socket, pipe). Blocks
/// while the reader is slow. Any thread. The process must ignore SIGPIPE if the descriptor is a
/// pipe. Before each write it looks whether the descriptor still stands for what was opened: the
/// program around may have closed it and opened a file of its own.
class FrameWriter {
 public:
  /// Called with why nothing is sent any more, by breakOff(); with "" where the host is gone.
  using OnEnd = std::function<void(const std::string& why)>;

  /// Writes to `fd`, which it never closes and, if it is a socket, makes non-blocking. Calls
  /// `onEnd` once, in the thread whose write failed or that called breakOff().
  explicit FrameWriter(int fd, OnEnd onEnd = {});

  /// Encodes a message and writes it. Returns kEnded if the host, the reading process, is gone;
  /// this and all later messages are then not sent.
  Result<void> send(const Message& message);

  /// Sends nothing any more, as after a failed write. A write that waits for its reader ends soon.
  void breakOff(const std::string& why);
  /// From now on the reader is waited for until `deadline` and no longer.
  void giveUpAt(std::chrono::steady_clock::time_point deadline);

  /// Returns true once a write has failed, or after breakOff().
  [[nodiscard]] bool hostGone() const { return gone_.load(std::memory_order_acquire); }
  /// The number of bytes of all frames written so far.
  [[nodiscard]] std::uint64_t bytesWritten() const { return written_.load(); }

 private:
  [[nodiscard]] bool writeAll(std::span<const std::uint8_t> bytes);
  [[nodiscard]] ssize_t writeSome(std::span<const std::uint8_t> bytes) const;
  [[nodiscard]] bool waitForReader() const;
  void noteEnd(const std::string& why);

  const wire::OwnDescriptor own_;
  OnEnd onEnd_;
  std::mutex mutex_;
  std::atomic<bool> gone_{false}, told_{false};
  std::atomic<std::chrono::steady_clock::time_point> deadline_{
      std::chrono::steady_clock::time_point::max()};
  std::atomic<std::uint64_t> written_{0};
};

}  // namespace highwater::probe
