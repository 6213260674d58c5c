#pragma once

#include "session/run_supervisor.h"
#include "session/worker_process.h"

namespace highwater::session {

/// Supervises a worker, which ends with its run: it is killed where it does not end by itself.
class WorkerSupervisor final : public RunSupervisor {
 public:
  WorkerSupervisor(Session* session, LaunchOptions options);

  [[nodiscard]] QStringList lastLines() const override;
  [[nodiscard]] qint64 workerProcessId() const override;

 private:
  [[nodiscard]] Result<void> launch() override;
  void greet() override { welcome(options_.scheduledKnobs); }
  [[nodiscard]] bool isRunning() const override { return process_ && process_->isRunning(); }
  [[nodiscard]] bool kill() override;
  void killAndWait() override;
  void endUnasked() override { forceEnd(); }
  void onStopAsked() override;
  void onExitTimeout() override;
  void awaitExit() override;
  void stopTimers() override;
  void onStopTimeout();
  [[nodiscard]] bool mayFinishStep() const;

  LaunchOptions options_;
  std::unique_ptr<WorkerProcess> process_;
  QTimer stopTimer_;
  std::chrono::milliseconds stoppingFor_{0};
  std::uint32_t stepsAtStop_ = 0;  ///< that had ended when the stop was asked for
};

}  // namespace highwater::session
