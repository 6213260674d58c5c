#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "core/message_sink.h"
#include "core/messages.h"
#include "core/result.h"

namespace highwater::session {

/// How to start a worker. An empty string or 0 leaves the worker's own default.
struct LaunchOptions {
  QString workerProgram;  ///< empty: highwater-worker beside this program, or $HIGHWATER_WORKER
  QString device = QStringLiteral("auto");
  QString workload = QStringLiteral("issue-classifier");
  QString preset;
  QString dataFile;
  QString dtype;
  std::uint32_t steps = 0;  ///< 0: until stopped
  std::uint32_t batchSize = 0;
  std::uint32_t sequenceLength = 0;
  std::uint32_t lossEvery = 0;
  int samplingHz = 0;
  QString probeLevel;  ///< off, monitor or ops
  QString scenario;    ///< of core/scenarios.h
  std::optional<std::uint64_t> seed;
  std::vector<SetKnobs> scheduledKnobs;  ///< sent before the first step
  QStringList acceptedOps;               ///< names that the worker checks before it trains
  QStringList environment;               ///< NAME=VALUE, added to the worker's
};

struct AttachedConnection;

/// Starts and supervises one worker, validates its stream once and fans it out to sinks. One run a
/// Session: make a new one for the next. All on the thread that made it (its event loop must run).
///
/// $HIGHWATER_HANG_TIMEOUT_MS (default 10000) is how long a worker may send nothing before it is
/// taken to hang, and how long its training may stand in one op before stalled() says so.
/// $HIGHWATER_START_TIMEOUT_MS (default 60000) is the silence allowed before its training has
/// started: libtorch loads slowly.
class Session final : public QObject {
  Q_OBJECT

 public:
  enum class State { kIdle, kStarting, kRunning, kPaused, kStopping, kEnded };
  Q_ENUM(State)

  explicit Session(LaunchOptions options, QObject* parent = nullptr);
  /// For a process that was started elsewhere and connected to a LocalEndpoint. Of the options only
  /// the scheduled knobs hold. Its end is not ours to force: stop() asks, abort() disconnects.
  Session(AttachedConnection connection, LaunchOptions options, QObject* parent = nullptr);
  ~Session() override;  ///< ends the worker if it still runs

  /// Not owned; must outlive the run. Sinks take every valid message in order, and RunEnd last.
  void addSink(MessageSink* sink);

  /// Starts the worker (or greets the attached one): Idle → Starting. Failure to start ends the
  /// run, see ended().
  void start();
  /// Commands. Each is answered by commandAnswered(); a command that the state does not allow is
  /// not sent and is answered as refused at once.
  void pause();
  void resume();
  void emptyCache();
  void setKnobs(const SetKnobs& knobs);
  void setProbeLevel(const SetProbeLevel& change);
  /// Writes the user's word on an op that falls back into the stream, as if the worker had sent it.
  /// Nothing after the end of the run: see store/ for a recording that is closed.
  void acceptFallback(const FallbackAcceptance& acceptance);
  /// Asks the worker to stop after its step; kills it after a grace of 5 s.
  void stop();
  /// Kills at once: the window is closing.
  void abort();

  [[nodiscard]] State state() const;
  /// How the run ended; set when the state is Ended.
  [[nodiscard]] const std::optional<RunEnd>& end() const;
  [[nodiscard]] const std::optional<Hello>& hello() const;
  /// The last lines that the worker printed, newest last (200 at most, control characters removed).
  [[nodiscard]] QStringList lastLines() const;
  /// 0 where there is none.
  [[nodiscard]] qint64 workerProcessId() const;

 signals:
  void stateChanged(highwater::session::Session::State state);
  /// Messages were handed to the sinks; comes once a read from the socket, not once a message.
  void received();
  void commandAnswered(const QString& what, bool accepted, const QString& message);
  /// The worker still speaks, and its training stands in one span for longer than the hang
  /// timeout: "step 31 has stood in loss read for 12 s, in aten::_local_scalar_dense". Comes once,
  /// until stallEnded(); nothing is ended by it.
  void stalled(const QString& message);
  /// That span was closed, or the run is over.
  void stallEnded();
  /// A line that the worker printed.
  void linePrinted(const QString& line);
  /// The last signal of a run.
  void ended(const highwater::RunEnd& end);

 private:
  class Private;
  std::unique_ptr<Private> d_;
};

/// Where the worker is: $HIGHWATER_WORKER, else beside the running program. kNotFound says where it
/// was looked for.
[[nodiscard]] Result<QString> findWorker();

/// What `highwater-worker` is started with for these options, the connection left out.
[[nodiscard]] QStringList workerArguments(const LaunchOptions& options);

/// The exit code of a command line whose run ended so.
[[nodiscard]] int exitCodeFor(const RunEnd& end);

}  // namespace highwater::session
