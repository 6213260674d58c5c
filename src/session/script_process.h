#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <memory>
#include <optional>

#include "core/result.h"
#include "session/local_endpoint.h"

namespace highwater::session {

/// How to start the user's own program.
struct ScriptOptions {
  QStringList command;      ///< program and arguments, for example python train.py
  QString workingFolder;    ///< where the program starts; empty: this process's
  bool simulated = false;   ///< "mps" is the simulated device
  QString probeLevel;       ///< off, monitor or ops; empty: monitor
  QStringList environment;  ///< NAME=VALUE, added to this process's environment
};

/// The user's own program, started so that the one Python process in it that trains connects to a
/// LocalEndpoint. It keeps this process's stdin, stdout, stderr and process group, and default
/// actions for signals. It runs on whatever happens to this process.
class ScriptProcess final : public QObject {
  Q_OBJECT

 public:
  explicit ScriptProcess(ScriptOptions options, QObject* parent = nullptr);
  ~ScriptProcess() override;

  /// Starts the program. Fails with kNotFound where it, the Python package of Highwater or the
  /// simulated device is not found; kFailed where no socket can be made.
  [[nodiscard]] Result<void> start();
  /// The connection of the process that trains; once, after connected().
  [[nodiscard]] std::optional<AttachedConnection> takeConnection();
  /// The id of the program's process; 0 before start() and after its end.
  [[nodiscard]] qint64 processId() const { return process_.processId(); }
  /// True once the program has ended.
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Its exit code; meaningless where it was ended by signal().
  [[nodiscard]] int exitCode() const { return process_.exitCode(); }
  /// The signal that has ended it; 0: none.
  [[nodiscard]] int signal() const { return signal_; }

 signals:
  void connected();
  /// A process of another user tried to connect.
  void refused(const QString& reason);
  void ended();

 private:
  ScriptOptions options_;
  std::unique_ptr<LocalEndpoint> endpoint_;
  QProcess process_;
  bool ended_ = false;
  int signal_ = 0;
};

}  // namespace highwater::session
