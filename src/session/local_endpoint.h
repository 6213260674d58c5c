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

/// A process that connected, before it said Hello.
struct AttachedConnection {
  UniqueFd socket;
  std::string token;  ///< what its Hello must carry
};

/// A named local socket for one process that was started elsewhere
/// (`highwater-worker --connect SOCKET --token-file FILE`). Its folder may be entered by this user
/// alone (0700), the token is random and in a file of mode 0600, and the system vouches for the
/// peer's user. All of it is gone when the object is.
class LocalEndpoint final : public QObject {
  Q_OBJECT

 public:
  /// A socket's address holds 104 bytes on macOS and 108 on Linux.
  static constexpr qsizetype kMaxPathBytes = 99;

  [[nodiscard]] static Result<std::unique_ptr<LocalEndpoint>> listen();
  ~LocalEndpoint() override;

  [[nodiscard]] QString socketPath() const;
  [[nodiscard]] QString tokenFile() const;

  /// The connection, once; nothing before connected().
  [[nodiscard]] std::optional<AttachedConnection> take();

 signals:
  /// A process of this user has connected; nobody else can any more.
  void connected();
  /// Somebody was turned away.
  void refused(const QString& why);

 private:
  LocalEndpoint(std::unique_ptr<QTemporaryDir> folder, UniqueFd listener, std::string token);
  void acceptOne();

  std::unique_ptr<QTemporaryDir> folder_;
  UniqueFd listener_;
  std::string token_;
  std::unique_ptr<QSocketNotifier> notifier_;
  std::optional<AttachedConnection> connection_;
};

}  // namespace highwater::session
