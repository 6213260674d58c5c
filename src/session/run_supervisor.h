#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/activity.h"
#include "core/command_answer.h"
#include "core/messages.h"
#include "session/frame_channel.h"
#include "session/run_end.h"
#include "session/run_state_machine.h"
#include "session/session.h"
#include "session/worker_launch.h"

namespace highwater::session {

/// What a Session does: the connection, the commands, the limits of silence, and how the run ends.
/// What depends on the program that trains is in the classes derived from it. The functions of the
/// same names are described in Session.
class RunSupervisor : public QObject {
 public:
  explicit RunSupervisor(Session* session);

  void addSink(MessageSink* sink) { sinks_.push_back(sink); }
  void start();
  /// `id` is that of a command that another host has sent; 0: it is this one's own.
  void request(const CommandAction& action, std::uint32_t id = 0);
  virtual void relay(const Command& command) { request(command.action, command.id); }
  virtual void stop() { request(StopTraining{}); }
  virtual void abort();
  virtual void signalProgram(int) {}
  virtual void killProgram() {}
  /// Passes a message of this host to the sinks; false before RunDescription and after the end.
  [[nodiscard]] bool handOut(const Message& message);

  [[nodiscard]] const RunStateMachine& machine() const { return machine_; }
  [[nodiscard]] const RunFacts& facts() const { return facts_; }
  [[nodiscard]] const std::optional<Hello>& hello() const { return hello_; }
  [[nodiscard]] std::optional<events::ProbeLevel> lastingLevel() const { return lastingLevel_; }
  [[nodiscard]] virtual QStringList lastLines() const = 0;
  [[nodiscard]] virtual qint64 workerProcessId() const = 0;
  [[nodiscard]] virtual bool programRuns() const { return false; }
  [[nodiscard]] virtual QString remoteRecording() const { return {}; }
  [[nodiscard]] virtual qint64 processLeftBehind() const { return 0; }

 protected:
  /// From the last message to the end of the process and the connection.
  static constexpr std::chrono::milliseconds kExitGrace{5000};

  /// Starts the program, which is connected to by connectTo(), at once or later.
  [[nodiscard]] virtual Result<void> launch() = 0;
  /// Answers Hello.
  virtual void greet() = 0;
  /// Whether a process of this run, here, has not ended.
  [[nodiscard]] virtual bool isRunning() const = 0;
  /// Kills the process that forceEnd() must not leave; its end concludes the run. False where there
  /// is none.
  [[nodiscard]] virtual bool kill() { return false; }
  virtual void killAndWait() {}
  /// Whether StopTraining can be sent; otherwise endUnasked() ends the program.
  [[nodiscard]] virtual bool canAskToStop() const { return facts_.greeted; }
  virtual void endUnasked() = 0;
  virtual void onStopAsked() {}
  virtual void onConnectionEnded();
  virtual void onExitTimeout() { forceEnd(); }
  /// The host on another machine says how the run ended.
  virtual void onToldEnd(const RunEnd&) {}
  /// Adds to facts_ before the end is made of them.
  virtual void completeFacts() {}
  virtual void onConcluded() {}
  /// The last message has come: the process must end within kExitGrace.
  virtual void awaitExit();
  virtual void stopTimers();

  void connectTo(UniqueFd socket, std::string token, wire::StreamSource source);
  /// Lets the worker train, with the knobs that are set before the first step.
  void welcome(const std::vector<SetKnobs>& knobs = {});
  void send(const CommandAction& action, bool isRequested, std::uint32_t id = 0);
  void refuse(const CommandAction& action, const std::string& reason, std::uint32_t id);
  void forceEnd();
  void concludeIfOver();
  void conclude();
  void concludeLater();

  Session* q;  ///< whose signals are emitted
  SupervisionLimits limits_;
  RunFacts facts_;
  std::optional<Hello> hello_;
  std::unique_ptr<FrameChannel> channel_;
  std::uint32_t nextCommandId_ = 1;
  bool described_ = false;
  bool startAccepted_ = false;
  bool connectionOver_ = false;
  std::chrono::milliseconds silence_{0};
  QTimer watchTimer_, exitTimer_;

 private:
  struct Unanswered {
    std::uint32_t id = 0;
    CommandAction action;
    bool isRequested = false;  ///< by a caller, who gets commandAnswered()
  };

  void onMessage(std::span<const std::uint8_t> frame, const Message& message);
  void onResult(const CommandResult& result);
  void requestStop(std::uint32_t id);
  void startTrainingIfReady();
  void emitStateIf(bool changed);
  void watch();
  void watchStall();
  void endStall();

  RunStateMachine machine_;
  std::vector<MessageSink*> sinks_;
  std::vector<Unanswered> unanswered_;
  std::optional<events::ProbeLevel> lastingLevel_;
  std::optional<Activity> activity_;  ///< while the run lives
  bool isStalled_ = false;
};

}  // namespace highwater::session
