#pragma once

#include <QObject>
#include <QThread>
#include <QTimer>
#include <memory>
#include <optional>

#include "core/messages.h"
#include "core/result.h"
#include "session/run_end.h"
#include "session/session.h"

namespace highwater::session {

class FrameChannel;
class WorkerProcess;
struct ScriptOptions;

/// Asks a worker, in the background, for its versions and the device that it would use. It loads
/// libtorch but does not train. One query is one question.
class WorkerQuery final : public QObject {
  Q_OBJECT

 public:
  explicit WorkerQuery(LaunchOptions options, QObject* parent = nullptr);
  /// Ends the worker if it is still there.
  ~WorkerQuery() override;

  /// Looks for the worker, where the options name none, and starts it.
  void start();
  /// What the worker said. Before answered() an error. Fails with kUsage if the worker refuses its
  /// options, with kFailed if it does not answer, and with the errors of readSupervisionLimits(),
  /// findWorker() and WorkerProcess::start().
  [[nodiscard]] Result<Hello> answer() const;

 signals:
  /// The worker has answered and ended, or did neither within the start timeout.
  void answered();

 private:
  void launch(const QString& program);
  void fail(const Error& problem);
  void finishIfOver();
  void finish();

  LaunchOptions options_;
  RunFacts facts_;
  std::optional<Error> problem_;       ///< why no worker was started
  std::unique_ptr<QThread> search_{};  ///< for a worker, while it asks Pythons
  std::optional<Hello> hello_;
  bool connectionOver_ = false, over_ = false;
  QTimer limit_;
  std::unique_ptr<WorkerProcess> process_;
  std::unique_ptr<FrameChannel> channel_;
};

/// Starts a worker with `--describe`, which reports its versions and the device that it would use
/// but does not train. Blocks in an event loop of its own, for the start timeout at most
/// ($HIGHWATER_START_TIMEOUT_MS). Fails with kUsage if the worker refuses its options, with kFailed
/// if it does not answer, and with the errors of readSupervisionLimits(), findWorker() and
/// WorkerProcess::start().
[[nodiscard]] Result<Hello> describeWorker(const LaunchOptions& options);

/// Checks the settings of the simulated device for a script, if it shall have one: those that are
/// added to its environment, and those of this process. A worker reads them as the script's device
/// would, which takes a second or two, and no time where none can be wrong. Fails with kUsage where
/// one is not allowed; other problems are left to the script's start.
[[nodiscard]] Result<void> checkSimulatedSettings(const ScriptOptions& script);

}  // namespace highwater::session
