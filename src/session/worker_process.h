#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>

#include "core/result.h"
#include "session/line_log.h"
#include "session/unique_fd.h"

namespace highwater::session {

/// How a process ended: by `signal`, or with `exitCode` where signal is 0.
struct ProcessExit {
  int exitCode = 0;
  int signal = 0;
};

/// One worker process, in a process group of its own (a Ctrl+C at the terminal is ours to handle),
/// with one end of a socket pair as its only inherited descriptor beside the standard ones. When we
/// end, however that happens, it reads the end of that connection.
class WorkerProcess final : public QObject {
  Q_OBJECT

 public:
  explicit WorkerProcess(QObject* parent = nullptr);
  ~WorkerProcess() override;  ///< kills

  /// Starts `program arguments… --fd N` and returns our end of the connection. `environment`:
  /// NAME=VALUE, added to ours. kNotFound, kNoPermission, or the system's reason.
  [[nodiscard]] Result<UniqueFd> start(const QString& program, const QStringList& arguments,
                                       const QStringList& environment);

  void kill();
  /// Kills and waits until it is gone.
  void killAndWait();

  [[nodiscard]] bool isRunning() const;
  [[nodiscard]] qint64 processId() const { return processId_; }
  [[nodiscard]] const QStringList& lastLines() const { return lines_.lines(); }

 signals:
  void linePrinted(const QString& line);
  void finished(highwater::session::ProcessExit exit);

 private:
  void readOutput();
  void onFinished(int code, QProcess::ExitStatus status);

  QProcess process_;
  LineLog lines_;
  qint64 processId_ = 0;
};

/// "signal 9 (SIGKILL)"
[[nodiscard]] QString signalText(int signal);

}  // namespace highwater::session
