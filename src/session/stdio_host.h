#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <QString>
#include <memory>
#include <span>

#include "core/message_sink.h"
#include "core/messages.h"
#include "core/result.h"
#include "session/unique_fd.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"

namespace highwater::session {

/// The far end of `highwater run --on`: passes the messages of a run to a Highwater on another
/// machine, over stdout, and takes that one's commands from stdin (see remote_lines). A connection
/// that breaks, or that is slower than the messages for too long, ends this and nothing else.
///
/// Where the connection is more than kMostBehind bytes behind, ops are left out and counted as
/// lost: they are most of what comes.
class StdioHost final : public QObject, public MessageSink {
  Q_OBJECT

 public:
  static constexpr std::size_t kMostBehind = std::size_t{4} << 20;
  static constexpr std::size_t kMostQueued = std::size_t{64} << 20;  ///< the connection ends beyond

  /// Reads commands from `in` and writes to `out`, once sayStarted() has been called.
  StdioHost(UniqueFd in, UniqueFd out);

  /// Makes the one of this process. Keeps stdin and stdout for itself: from then on stdin is empty,
  /// and what goes to stdout goes to stderr. Greets the other one and waits until it says to start.
  /// Fails with kUsage where they are a terminal, with kEnded where it does not say so, and with
  /// kFailed and the system's reason.
  [[nodiscard]] static Result<std::unique_ptr<StdioHost>> greet();

  /// Tells the other one that the program was started, and where it is recorded.
  void sayStarted(const QString& recording);
  /// Tells it why the program was not started.
  void sayNotStarted(const QString& why);

  /// Passes a message on.
  void take(std::span<const std::uint8_t> frame, const Message& message) override;
  /// Waits until all has been written, or the connection is broken.
  void flush();

 signals:
  /// The other one sent a command, whose answer must carry its id.
  void commanded(const highwater::Command& command);

 private:
  void say(std::string_view word, const QString& text);
  void queue(std::span<const std::uint8_t> bytes);
  void writeSome();
  void readSome();
  void close();

  UniqueFd in_, out_;
  std::unique_ptr<QSocketNotifier> readNotifier_, writeNotifier_;
  wire::FrameReader reader_;
  wire::FrameBytes queue_;
  std::size_t written_ = 0;
};

}  // namespace highwater::session
