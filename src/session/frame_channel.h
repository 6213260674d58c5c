#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <QString>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "session/unique_fd.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/validator.h"

namespace highwater::session {

/// Our end of a connection to a worker: reads bytes, hands on valid messages, writes frames. What
/// the worker sent before it closed its end is still handed on when writing has begun to fail.
class FrameChannel final : public QObject {
  Q_OBJECT

 public:
  using Handler = std::function<void(std::span<const std::uint8_t> frame, const Message& message)>;

  /// Bytes that may wait to be written; a command past that is refused.
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{1} << 20;

  /// Takes a connected stream socket. `token`: what Hello must carry, empty for a launched worker.
  /// `handler` gets each valid message in order; it may call close().
  FrameChannel(UniqueFd socket, std::string token, Handler handler, QObject* parent = nullptr);
  ~FrameChannel() override;

  /// Queues a frame. An error where the other side is gone or does not read.
  [[nodiscard]] Result<void> send(const Message& message);

  /// Ends the connection at once; no signal follows.
  void close();
  [[nodiscard]] bool isOpen() const { return socket_.valid(); }

 signals:
  /// Messages were handed on; comes once a read.
  void received();
  /// The stream broke a rule; the connection is closed. `what` begins with the rule's name.
  void violated(const QString& what);
  /// The other side closed the connection and everything it sent has been handed on.
  void ended();

 private:
  void readSome();
  [[nodiscard]] bool handleFrames();
  void writeSome();
  void breakOff(const Error& error);

  UniqueFd socket_;
  Handler handler_;
  wire::FrameReader reader_;
  wire::Validator validator_;
  std::vector<std::uint8_t> chunk_;
  wire::FrameBytes queue_;
  std::size_t written_ = 0;
  bool writable_ = true;
  std::unique_ptr<QSocketNotifier> readNotifier_, writeNotifier_;
};

/// A connected pair of stream sockets, both closed on exec. kFailed with the system's reason.
[[nodiscard]] Result<std::pair<UniqueFd, UniqueFd>> socketPair();

}  // namespace highwater::session
