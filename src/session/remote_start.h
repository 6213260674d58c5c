#pragma once

#include <QByteArray>
#include <QObject>
#include <QSocketNotifier>
#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <string_view>

#include "core/result.h"
#include "session/process_exit.h"
#include "session/unique_fd.h"

namespace highwater::session {

struct ScriptOptions;

/// The lines that two Highwaters exchange before frames follow. The far one (see StdioHost) says
/// kGreeting and its version, and waits for kGoAhead. Then it starts the program and says kRecords
/// and the recording's path, or kNotStarted and why; both are percent-encoded.
namespace remote_lines {
inline constexpr std::string_view kGreeting = "highwater-stdio ";
inline constexpr std::string_view kGoAhead = "start";
inline constexpr std::string_view kRecords = "recording ";
inline constexpr std::string_view kNotStarted = "not-started ";
}  // namespace remote_lines

/// Whether a text can be a machine as ssh knows it, "user@studio". What follows a colon is a folder
/// to us, and what begins with - would be an option to ssh.
[[nodiscard]] bool isSshHost(const QString& text);

/// The command that starts `highwater run --stdio` on ScriptOptions::host: its program and its
/// arguments. $HIGHWATER_SSH (default "ssh -T -o ServerAliveInterval=15") gets the host and one
/// text for a POSIX shell there; $HIGHWATER_REMOTE_PROGRAM (default "highwater") is what that
/// starts. Fails with kUsage for a $HIGHWATER_SSH that is no command.
[[nodiscard]] Result<QStringList> remoteCommand(const ScriptOptions& options);

/// The near end's part of remote_lines, over the socket that is the remote command's stdin and
/// stdout. What a login shell prints before the greeting is skipped.
class RemoteStart final : public QObject {
  Q_OBJECT

 public:
  /// The most bytes that may come before the greeting.
  static constexpr qsizetype kMostNoise = 65'536;

  RemoteStart(UniqueFd socket, QString host, QObject* parent = nullptr);

  /// The connection, on which frames follow; once, after started().
  [[nodiscard]] UniqueFd takeSocket() { return std::move(socket_); }
  /// Where the far one records; empty before started().
  [[nodiscard]] QString recording() const { return recording_; }
  /// Why the program was not started, for the user, once the remote command has ended as `exit`;
  /// `lastLine` is the last that it printed. Of a program that was started: empty.
  [[nodiscard]] QString whyNotStarted(const ProcessExit& exit, const QString& lastLine) const;
  /// That nothing came in time is why.
  void timeOut();

 signals:
  /// The program has been started there.
  void started();
  /// It will not be: see whyNotStarted().
  void failed();

 private:
  void readSome();
  void take(const QByteArray& line);
  void greet(const QString& version);
  void fail(const QString& why);

  UniqueFd socket_;
  QString host_;
  std::unique_ptr<QSocketNotifier> notifier_;
  QByteArray line_;
  QString lastNoise_, recording_, why_;
  qsizetype noise_ = 0;
  bool greeted_ = false, started_ = false;
};

}  // namespace highwater::session
