#include "session/script_supervisor.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "session/process_search.h"

namespace highwater::session {
namespace {

/// The end of a connection and that of its process are seen one after the other, in any order.
constexpr std::chrono::milliseconds kDisconnectGrace{1000};
/// What a host may send to the program that it runs for another one.
constexpr std::array kSentSignals = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM};

}  // namespace

ScriptSupervisor::ScriptSupervisor(Session* session, ScriptOptions options)
    : RunSupervisor(session) {
  facts_.program = programText(options.command);
  facts_.isScript = true;
  script_ = std::make_unique<ScriptProcess>(std::move(options));
  connect(script_.get(), &ScriptProcess::linePrinted, q, &Session::linePrinted);
  connect(script_.get(), &ScriptProcess::openLineChanged, q, &Session::openLineChanged);
  connect(script_.get(), &ScriptProcess::refused, q, &Session::linePrinted);
  connect(script_.get(), &ScriptProcess::ended, this, [this] { onScriptEnded(); });
  connect(script_.get(), &ScriptProcess::connected, this, [this] {
    if (auto connection = script_->takeConnection()) onConnected(std::move(*connection));
  });
  disconnectTimer_.setInterval(kDisconnectGrace);
  disconnectTimer_.setSingleShot(true);
  connect(&disconnectTimer_, &QTimer::timeout, this, [this] {
    if (programRuns() && hello_) {
      facts_.trainerRanOn = session::isRunning(static_cast<pid_t>(hello_->processId));
    }
  });
}

Result<void> ScriptSupervisor::launch() {
  return script_->start();
}

void ScriptSupervisor::onConnected(AttachedConnection connection) {
  watchTimer_.start();
  connectTo(std::move(connection.socket), std::move(connection.token), wire::StreamSource::kWorker);
}

void ScriptSupervisor::onConnectionEnded() {
  disconnectTimer_.start();
  RunSupervisor::onConnectionEnded();
}

void ScriptSupervisor::awaitExit() {
  // After its training a script may save, plot or upload for as long as it likes.
  if (programRuns()) return watchTimer_.stop();
  RunSupervisor::awaitExit();
}

void ScriptSupervisor::onScriptEnded() {
  noteExit();
  emit q->programEnded();
  if (!channel_) return conclude();
  // A process that the program has left behind may hold the connection open.
  awaitExit();
  concludeIfOver();
}

void ScriptSupervisor::noteExit() {
  facts_.exit = {script_->exitCode(), script_->signal()};
  facts_.disconnectReason = script_->disconnectReason();
  if (!facts_.greeted) {
    facts_.whyNothingTrained = QString::fromStdString(script_->whyNothingTrained());
  }
}

void ScriptSupervisor::relay(const Command& command) {
  const auto* sent = std::get_if<SignalProgram>(&command.action);
  if (!sent) return RunSupervisor::relay(command);
  if (std::find(kSentSignals.begin(), kSentSignals.end(), sent->signal) == kSentSignals.end()) {
    return refuse(command.action, "that signal is not sent on", command.id);
  }
  if (sent->signal == SIGKILL) return killProgram();
  if (sent->signal != SIGINT && sent->signal != SIGQUIT) return signalProgram(sent->signal);
  signalAll(sent->signal);
}

void ScriptSupervisor::stop() {
  if (machine().state() == Session::State::kStopping) return signalProgram(SIGINT);
  RunSupervisor::stop();
}

void ScriptSupervisor::endUnasked() {
  signalAll(SIGINT);
}

void ScriptSupervisor::killProgram() {
  if (!script_->hasEnded()) signalAll(SIGKILL);
}

void ScriptSupervisor::signalAll(int signal) {
  // While its connection is open, its number is still its own.
  const bool isConnected = hello_ && !disconnectTimer_.isActive();
  script_->signalAll(signal, isConnected ? static_cast<pid_t>(hello_->processId) : 0);
}

bool ScriptSupervisor::programRuns() const {
  return !facts_.notStarted && !script_->hasEnded();
}

qint64 ScriptSupervisor::processLeftBehind() const {
  return script_->hasEnded() ? script_->leftBehind() : 0;
}

qint64 ScriptSupervisor::workerProcessId() const {
  return hello_ ? static_cast<qint64>(hello_->processId) : script_->processId();
}

}  // namespace highwater::session
