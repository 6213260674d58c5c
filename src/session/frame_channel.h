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

/// The host's end of a connection to a worker: reads bytes, decodes and validates messages, writes
/// frames. If writing fails, reading continues until the worker's end of the stream.
class FrameChannel final : public QObject {
  Q_OBJECT

 public:
  /// Receives a valid message. Both arguments are valid only during the call.
  using Handler = std::function<void(std::span<const std::uint8_t> frame, const Message& message)>;

  /// The most bytes that may wait to be written to the worker; send() fails beyond.
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{1} << 20;

  /// Starts to read from `socket`, a connected stream socket. The worker's Hello must carry
  /// `token`, which is empty for a launched worker. From the host of another machine comes what a
  /// recording holds, so `source` is kRecording. `handler` gets each valid message in order; it may
  /// call close().
  FrameChannel(UniqueFd socket, std::string token, Handler handler,
               wire::StreamSource source = wire::StreamSource::kWorker, QObject* parent = nullptr);
  ~FrameChannel() override;

  /// Queues a message for the worker and returns at once. Fails with kEnded if the connection is
  /// closed, and with kFailed if kMaxQueuedBytes wait already.
  [[nodiscard]] Result<void> send(const Message& message);

  /// Ends the connection at once; no signal follows.
  void close();
  [[nodiscard]] bool isOpen() const { return socket_.valid(); }

 signals:
  /// The handler got at least one message. Emitted once for each read; bytes of a frame that is
  /// not complete yet do not count.
  void received();
  /// The stream broke a rule, and the connection is closed. `what` begins with the rule's name.
  void violated(const QString& what);
  /// The worker closed the connection, and the handler got everything that it had sent.
  void ended();

 private:
  void readSome();
  /// Handles the complete frames of the buffer. False if reading must stop, because a handler
  /// closed or deleted the channel.
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

/// send() without SIGPIPE where nobody reads any more.
[[nodiscard]] ssize_t sendQuietly(int socket, const void* bytes, std::size_t size);

/// Creates a connected pair of stream sockets, which programs started later do not inherit
/// (close-on-exec). Fails with kFailed and the system's reason.
[[nodiscard]] Result<std::pair<UniqueFd, UniqueFd>> socketPair();

}  // namespace highwater::session
