#pragma once

#include <QObject>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStringList>
#include <string>
#include <vector>

#include "core/result.h"
#include "session/line_log.h"
#include "session/process_exit.h"
#include "session/unique_fd.h"

namespace highwater::session {

/// One worker process and all processes that it starts.
///
/// The worker leads its own process group, so a Ctrl+C at the terminal reaches only highwater. It
/// inherits the standard descriptors and one end of a socket pair; however highwater ends, the
/// worker then reads the end of that connection.
///
/// Its environment has a unique $HIGHWATER_LAUNCH_ID, which the processes that it starts inherit.
/// When the worker has ended, all processes that have this entry are killed, even if they left the
/// group with setsid(). See processesWithEnvironment() for those that are missed.
class WorkerProcess final : public QObject {
  Q_OBJECT

 public:
  explicit WorkerProcess(QObject* parent = nullptr);
  ~WorkerProcess() override;  ///< killAndWait()

  /// Starts `program arguments… --fd N` and returns highwater's end of the connection. The worker
  /// inherits the descriptors `passed`, each at least 10, under the same numbers.
  /// The NAME=VALUE entries of `environment` are added to highwater's own. Blocks until the program
  /// runs. Fails with kNotFound or kNoPermission for the program, or with kFailed and the system's
  /// reason, for example if too few file descriptors are left.
  [[nodiscard]] Result<UniqueFd> start(const QString& program, const QStringList& arguments,
                                       const QStringList& environment,
                                       std::vector<int> passed = {});

  /// Kills the worker and its process group, and returns at once; the signal finished() follows.
  void kill();
  /// Kills the worker and its process group, and waits until the worker is gone, 5 s at most.
  void killAndWait();

  [[nodiscard]] bool isRunning() const;
  /// The process id of the worker, also after its end. 0 if it was never started.
  [[nodiscard]] qint64 processId() const { return processId_; }
  /// The last lines that the worker printed on stdout and stderr, newest last, at most
  /// LineLog::kMaxLines.
  [[nodiscard]] const QStringList& lastLines() const { return lines_.lines(); }

 signals:
  /// The worker printed `line`.
  void linePrinted(const QString& line);
  /// The worker has ended, and the processes that it started were killed.
  void finished(highwater::session::ProcessExit exit);

 private:
  void readOutput();
  void onFinished(int code, QProcess::ExitStatus status);
  void killDescendants();

  QProcess process_;
  LineLog lines_;
  std::string launchEntry_;  ///< "HIGHWATER_LAUNCH_ID=…"; empty before start and after the end
  qint64 processId_ = 0;
};

/// This process's environment with the NAME=VALUE entries of `additions`.
[[nodiscard]] QProcessEnvironment environmentWith(const QStringList& additions);

/// Names a signal for the user: "signal 9 (SIGKILL)".
[[nodiscard]] QString signalText(int signal);

}  // namespace highwater::session
