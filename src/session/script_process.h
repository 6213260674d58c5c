#pragma once

#include <QObject>
#include <QProcess>
#include <QSocketNotifier>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"
#include "session/line_log.h"
#include "session/local_endpoint.h"
#include "session/output_relay.h"
#include "session/remote_start.h"

namespace highwater::session {

/// How to start the user's own program.
struct ScriptOptions {
  QStringList command;  ///< program and arguments, for example python3 train.py
  /// The machine that it runs on, as ssh knows it; empty: this one.
  QString host{};
  QString workingFolder;   ///< where it starts; empty: this process's, or the user's home on `host`
  bool simulated = false;  ///< "mps" is the simulated device
  QString probeLevel;      ///< off, monitor or ops; empty: monitor
  QStringList environment;  ///< NAME=VALUE, added to this process's environment
  /// Whether linePrinted() tells what the program prints, besides where it would have gone.
  bool isHeard = true;
  bool printsToStderr = false;  ///< its stdout is this process's stderr: stdout has the result
  bool mayDropOutput = false;   ///< see OutputRelay::start(); needs isHeard
};

/// What to do where a program finds no MPS, in a build that has the simulated device.
inline constexpr char kSimulationHint[] =
    "this machine has no MPS; highwater run --device sim simulates it";

/// What a command runs, for the user: "train.py", "-m package", or the program's name.
[[nodiscard]] QString programText(const QStringList& command);

/// Checks what can be checked before a program is started. Fails with kNotFound where the program,
/// the Python package of Highwater or the simulated device is not found; those of another machine
/// are checked there.
[[nodiscard]] Result<void> checkScript(const ScriptOptions& options);

/// The user's own program, started on this machine or, by ssh, on another one, so that the one
/// Python process in it that trains connects to a LocalEndpoint. It keeps this process's stdin,
/// stdout, stderr and process group, and ignores the signals that this process ignored from its
/// start, as by nohup, and no others. It runs on whatever happens to this process or object.
class ScriptProcess final : public QObject {
  Q_OBJECT

 public:
  explicit ScriptProcess(ScriptOptions options, QObject* parent = nullptr);
  ~ScriptProcess() override;

  /// Starts the program. Fails with the errors of checkScript(), and kFailed where no socket can be
  /// made. SIGTERM and SIGHUP are handled in this process when it returns. Of the signals of a
  /// terminal the program gets each once: see StartSignals, which a caller makes that handles them
  /// before.
  [[nodiscard]] Result<void> start();
  /// Whether it runs on another machine. Then the process here is that of ssh, which ends by
  /// itself or by a signal without ending the program.
  [[nodiscard]] bool isRemote() const { return !options_.host.isEmpty(); }
  /// ScriptOptions::host.
  [[nodiscard]] QString host() const { return options_.host; }
  /// Where the Highwater of the other machine records; empty until it has started the program.
  [[nodiscard]] QString remoteRecording() const {
    return remote_ ? remote_->recording() : QString();
  }
  /// Why the other machine has not started the program; empty where it has.
  [[nodiscard]] QString whyNotStartedThere() const;
  /// Gives up on another machine that has not started the program.
  void giveUp() const;
  /// The connection of the process that trains, or of the other machine's Highwater; once, after
  /// connected().
  [[nodiscard]] std::optional<AttachedConnection> takeConnection();
  /// Why nothing trained, for the user: how far the program's Python processes came.
  [[nodiscard]] std::string whyNothingTrained() const;
  /// What the process that trained did to its connection before its end, for the user, after the
  /// program's name: "replaced itself by another program (exec)". "": nothing that is known.
  [[nodiscard]] std::string disconnectReason() const;
  /// The id of a process that the program has left behind; 0: none.
  [[nodiscard]] qint64 leftBehind() const;
  /// The id of the program's process; 0 before start() and after its end.
  [[nodiscard]] qint64 processId() const { return process_->processId(); }
  /// Sends the program a signal, while it runs.
  void send(int signal) const;
  /// Sends a signal to the program and to what it has started, to each once, as a terminal does: a
  /// launcher relies on that, and a shell script does not pass it on. `trainer` is the process that
  /// trains and has connected, which is not found otherwise; 0: none.
  void signalAll(int signal, pid_t trainer) const;
  /// True once the program has ended.
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Its exit code; meaningless where it was ended by signal().
  [[nodiscard]] int exitCode() const { return process_->exitCode(); }
  /// The signal that has ended it; 0: none.
  [[nodiscard]] int signal() const { return signal_; }
  /// The last lines that it printed, newest last; empty where its output is only forwarded.
  [[nodiscard]] const QStringList& lastLines() const { return lines_.lines(); }

 signals:
  void connected();
  /// A process of another user tried to connect.
  void refused(const QString& reason);
  /// The program has printed a line.
  void linePrinted(const QString& line);
  /// What it has printed of a line that has not ended, such as a progress bar. Empty: the line has
  /// ended.
  void openLineChanged(const QString& line);
  void ended();

 private:
  [[nodiscard]] Result<void> startHere();
  [[nodiscard]] Result<void> startThere();
  [[nodiscard]] Result<void> launch(const QStringList& command, int connection);
  [[nodiscard]] Result<void> hearOutput();
  void readOutput();
  void conclude();
  [[nodiscard]] std::string whyNotStarted() const;

  ScriptOptions options_;
  std::unique_ptr<LocalEndpoint> endpoint_;  ///< of a program on this machine
  std::unique_ptr<RemoteStart> remote_;      ///< of one on another machine
  OutputRelay relay_;
  std::unique_ptr<QSocketNotifier> printed_;
  LineLog lines_;
  std::unique_ptr<QProcess> process_;
  QTimer lastLines_;
  bool hasExited_ = false;
  bool ended_ = false;
  int signal_ = 0;
};

}  // namespace highwater::session
