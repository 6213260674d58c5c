#pragma once

#include "session/run_supervisor.h"
#include "session/script_process.h"

namespace highwater::session {

/// Supervises the user's own program on this machine, which goes on after its training for as long
/// as it likes, and is killed by killProgram() alone.
class ScriptSupervisor : public RunSupervisor {
 public:
  ScriptSupervisor(Session* session, ScriptOptions options);

  void relay(const Command& command) override;
  /// The second time a script need not come to the end of a step, which may never be.
  void stop() override;
  void signalProgram(int signal) override { script_->send(signal); }
  void killProgram() override;

  [[nodiscard]] QStringList lastLines() const override { return script_->lastLines(); }
  [[nodiscard]] qint64 workerProcessId() const override;
  [[nodiscard]] bool programRuns() const override;
  [[nodiscard]] qint64 processLeftBehind() const override;

 protected:
  [[nodiscard]] Result<void> launch() override;
  virtual void onConnected(AttachedConnection connection);
  void greet() override { welcome(); }
  [[nodiscard]] bool isRunning() const override { return programRuns(); }
  void endUnasked() override;
  void onConnectionEnded() override;
  void awaitExit() override;
  /// Adds to facts_ how the program ended.
  virtual void noteExit();
  /// Signals the program with all that it has started.
  void signalAll(int signal);

  ScriptProcess& script() const { return *script_; }

 private:
  void onScriptEnded();

  std::unique_ptr<ScriptProcess> script_;
  QTimer disconnectTimer_;
};

}  // namespace highwater::session
