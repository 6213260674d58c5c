#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <QString>
#include <QTemporaryDir>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"
#include "session/unique_fd.h"

namespace highwater::session {

/// The connection of a process that has connected to a LocalEndpoint and not yet sent its Hello.
struct AttachedConnection {
  UniqueFd socket;
  std::string token;  ///< what its Hello must carry
};

/// Deleter of the folder of a LocalEndpoint. A QTemporaryDir would remove all that it finds there.
struct RemoveEndpointFolder {
  void operator()(QTemporaryDir* folder) const;
};

/// A named local socket to which one process of the user's program can connect. Only this user can
/// enter its folder (0700) and read the random token (a file of mode 0600), and the kernel tells
/// the user of the connecting process. The destructor removes socket, token, signs and folder;
/// those of killed processes are removed by the next listen(). What others have put into the folder
/// stays.
class LocalEndpoint final : public QObject {
  Q_OBJECT

 public:
  /// The longest path of the socket, in bytes. A socket address holds 104 bytes on macOS and 108 on
  /// Linux.
  static constexpr qsizetype kMaxPathBytes = 99;

  /// Creates the folder, the token and the socket, and waits for a connection in the background.
  /// Fails with kFailed and the system's reason.
  [[nodiscard]] static Result<std::unique_ptr<LocalEndpoint>> listen();
  ~LocalEndpoint() override;

  /// The path of the socket, for the environment of the program.
  [[nodiscard]] QString socketPath() const;
  /// The path of the file with the token, likewise.
  [[nodiscard]] QString tokenFile() const;

  /// Whether the processes that may connect have left the sign `name`: a symbolic link beside the
  /// socket.
  [[nodiscard]] bool hasSign(const QString& name) const;
  /// The text of the sign, where its link points to; empty if there is none.
  [[nodiscard]] QString textOfSign(const QString& name) const;

  /// Hands over the connection. Returns it once, after the signal connected(); otherwise nothing.
  [[nodiscard]] std::optional<AttachedConnection> take();

 signals:
  /// A process of this user has connected. The socket accepts no second connection.
  void connected();
  /// A process of another user tried to connect and was disconnected. The socket stays open.
  void refused(const QString& reason);

 private:
  using Folder = std::unique_ptr<QTemporaryDir, RemoveEndpointFolder>;

  struct LockedFiles {
    UniqueFd owner;  ///< says that this process lives
    UniqueFd token;  ///< locked so that macOS keeps it
  };

  LocalEndpoint(Folder folder, LockedFiles locked, UniqueFd listener, std::string token);
  /// A new folder of mode 0700 whose path is short enough for a socket address; null if there is
  /// none.
  [[nodiscard]] static Folder makeFolder();
  void acceptOne();

  Folder folder_;
  LockedFiles locked_;
  UniqueFd listener_;
  std::string token_;
  std::unique_ptr<QSocketNotifier> notifier_;
  std::optional<AttachedConnection> connection_;
};

}  // namespace highwater::session
