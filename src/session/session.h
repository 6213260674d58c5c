#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "core/command_answer.h"
#include "core/message_sink.h"
#include "core/messages.h"
#include "core/result.h"
#include "core/run_options.h"
#include "session/process_exit.h"

namespace highwater::session {

class CheckpointFiles;
class RunSupervisor;

/// What happens after a worker was killed by a signal.
enum class AfterAbort {
  kAsk,     ///< the window offers to continue; a command ends
  kStop,    ///< the run is over
  kRestart  ///< a new worker continues with half of the batch: see AbortRecovery
};

/// The options of a worker and its run. For an empty string or 0 the worker takes its own default.
struct LaunchOptions : RunOptions {
  QString workerProgram;  ///< empty: highwater-worker beside this program, or $HIGHWATER_WORKER
  std::vector<SetKnobs> scheduledKnobs;  ///< sent before the first step; a refusal ends the run
  QStringList acceptedOps;               ///< op names that the worker checks before it trains
  QStringList environment;               ///< NAME=VALUE, added to this process's environment
  AfterAbort afterAbort = AfterAbort::kAsk;
  /// Where the worker keeps checkpoints: regularly, and when it is stopped. nullptr: it keeps none.
  std::shared_ptr<const CheckpointFiles> checkpoint;
  /// The worker continues from the newest of these checkpoints; the text says of which run. Empty:
  /// it begins anew.
  QString continues;
};

struct ScriptOptions;

/// Starts and supervises one worker, validates its stream and hands each valid message to the
/// sinks. A Session is one run: make a new one for the next. Not thread-safe: use it on the thread
/// that made it, which must run an event loop.
///
/// $HIGHWATER_HANG_TIMEOUT_MS (default 10000): the run ends as hung if the worker completes no
/// message for this long, and training that stands still in one op for this long is a stall.
/// $HIGHWATER_START_TIMEOUT_MS (default 60000) is the limit for messages until training starts:
/// libtorch loads slowly.
class Session final : public QObject {
  Q_OBJECT

 public:
  /// The states of a run, from kIdle before start() to kEnded. kStarting lasts until training
  /// starts.
  enum class State { kIdle, kStarting, kRunning, kPaused, kStopping, kEnded };
  Q_ENUM(State)

  /// Makes a session that will launch its own worker. start() launches it.
  explicit Session(LaunchOptions options, QObject* parent = nullptr);
  /// The first id of a command that relay() gets; those below are this session's own.
  static constexpr std::uint32_t kFirstRelayedId = 1'000'000;

  /// Makes a session for the user's own program, which start() starts. Its state is kStarting, for
  /// as long as that takes, until a process in the program trains. stop() interrupts it as Ctrl+C
  /// does, at the end of a step; it is never killed: abort() disconnects.
  explicit Session(ScriptOptions script, QObject* parent = nullptr);
  ~Session() override;  ///< abort()

  /// Adds a receiver for the run's messages. It gets every valid message in order, and RunEnd last.
  /// The session does not own it; it must outlive the run.
  void addSink(MessageSink* sink);

  /// Starts the worker or the program. The state becomes kStarting. If that fails, the run ends and
  /// ended() follows later, from the event loop. Does nothing after the first call.
  void start();
  /// Sends a command to the worker; commandAnswered() tells later whether it was accepted. A
  /// command that the state does not permit, that cannot be sent, or that follows too many
  /// unanswered ones is refused at once: the signal is emitted during this call. StopTraining does
  /// what stop() does; before the worker's Hello it gets no answer. Nor do commands that are open
  /// when the run ends.
  void request(const CommandAction& command);
  /// Sends on a command of a host on another machine: see StdioHost. The sinks get the answer, with
  /// the command's id, also where the command is refused here.
  void relay(const Command& command);
  /// Passes the user's acceptance of a fallback (an op that runs on the CPU) to the sinks, like a
  /// message of the worker. Does nothing before the worker's RunDescription and after the end of
  /// the run. For a closed recording use appendAcceptance().
  void acceptFallback(const FallbackAcceptance& acceptance);
  /// Passes a note of the user to the sinks, like a message of the worker. Returns false and does
  /// nothing before the worker's RunDescription and after the end of the run. For a closed
  /// recording use appendNote().
  [[nodiscard]] bool addNote(const Note& note);
  /// Asks the worker to stop after its current step. Kills it if it has not stopped after 5 s, and
  /// at once if it has not sent its Hello. The user's program is never killed: called again, this
  /// interrupts it at once.
  void stop();
  /// Sends a signal to the user's program; nothing to a worker.
  void signalProgram(int signal);
  /// Kills the user's program with the processes that it has started, the one that trains included.
  void killProgram();
  /// Kills the worker and waits until it is gone, 5 s at most; only disconnects from the user's
  /// program. The state is kEnded on return. Does nothing before start().
  void abort();

  [[nodiscard]] State state() const;
  /// How the run ended; set only in the state kEnded.
  [[nodiscard]] const std::optional<RunEnd>& end() const;
  /// The worker's first message; nullopt until it has arrived.
  [[nodiscard]] const std::optional<Hello>& hello() const;
  /// The newest probe level that was requested until changed, not for some steps, and accepted;
  /// nullopt: none.
  [[nodiscard]] std::optional<events::ProbeLevel> lastingProbeLevel() const;
  /// The last lines that the worker or the user's program printed, newest last, at most
  /// LineLog::kMaxLines.
  [[nodiscard]] QStringList lastLines() const;
  /// How the worker or the user's program ended; empty while it runs.
  [[nodiscard]] const std::optional<ProcessExit>& programExit() const;
  /// Where the host on another machine records the user's program, as HOST:PATH for scp; empty
  /// where that has not started it, and for any other run.
  [[nodiscard]] QString remoteRecording() const;
  /// Whether the user's program runs; false for a worker.
  [[nodiscard]] bool programRuns() const;
  /// The id of a process that the user's program has left behind; 0: none.
  [[nodiscard]] qint64 processLeftBehind() const;
  /// The process id of the worker; of the user's program that of the process that trains, and
  /// before its Hello that of the program. 0 before it has started, and on another machine.
  [[nodiscard]] qint64 workerProcessId() const;

 signals:
  /// The state of the run has changed to `state`.
  void stateChanged(highwater::session::Session::State state);
  /// The sinks got new messages. Emitted at most once for each read from the socket.
  void received();
  /// A requested command was accepted or refused.
  void commandAnswered(const highwater::CommandAnswer& answer);
  /// The worker still sends heartbeats, but its training stands still for longer than the hang
  /// timeout. `message` is stallText(). Emitted once until stallEnded(); the run goes on.
  void stalled(const QString& message);
  /// Training moves again, or the run is over.
  void stallEnded();
  /// The worker or the user's program printed a line.
  void linePrinted(const QString& line);
  /// What the user's program has printed of a line that has not ended: see ScriptProcess.
  void openLineChanged(const QString& line);
  /// The user's program has ended; possibly after ended(), where abort() disconnected from it.
  void programEnded();
  /// The last signal of a run.
  void ended(const highwater::RunEnd& end);

 private:
  std::unique_ptr<RunSupervisor> supervisor_;
};

/// Finds the worker program and returns its path, as chooseWorker() does (session/worker_choice.h)
/// for this program's folder and environment. Fails as that does.
[[nodiscard]] Result<QString> findWorker();

/// Makes the command-line arguments that start a worker with these options. The arguments for the
/// connection are not among them.
[[nodiscard]] QStringList workerArguments(const LaunchOptions& options);

/// The exit code (core/exit_codes.h) of a `highwater` command whose run ended with `end`.
[[nodiscard]] int exitCodeFor(const RunEnd& end);

}  // namespace highwater::session
