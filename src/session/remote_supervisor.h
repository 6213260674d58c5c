#pragma once

#include "session/script_supervisor.h"

namespace highwater::session {

/// Supervises the user's own program on another machine. The process here is that of ssh; the
/// connection leads to the Highwater there, which starts and records the program and tells how it
/// ended.
class RemoteSupervisor final : public ScriptSupervisor {
 public:
  using ScriptSupervisor::ScriptSupervisor;

  void abort() override;
  void signalProgram(int signal) override;
  void killProgram() override;
  [[nodiscard]] qint64 workerProcessId() const override { return 0; }
  [[nodiscard]] QString remoteRecording() const override;

 private:
  [[nodiscard]] Result<void> launch() override;
  void onConnected(AttachedConnection connection) override;
  void greet() override;
  [[nodiscard]] bool canAskToStop() const override { return facts_.greeted || channel_; }
  void endUnasked() override;
  void onConnectionEnded() override;
  void onToldEnd(const RunEnd& end) override;
  void noteExit() override;
  void completeFacts() override;
  void onConcluded() override;
  [[nodiscard]] bool programGoesOn() const;
};

}  // namespace highwater::session
