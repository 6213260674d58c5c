#include "session/remote_supervisor.h"

#include <csignal>

#include "core/exit_codes.h"
#include "core/plain_text.h"

namespace highwater::session {
namespace {

/// The exit code of an ssh that failed itself.
constexpr int kSshFailed = 255;
/// Of another machine, silence is more often the network's than the training's.
constexpr int kPatience = 6;

}  // namespace

Result<void> RemoteSupervisor::launch() {
  limits_.silence *= kPatience;
  nextCommandId_ = Session::kFirstRelayedId;
  QTimer::singleShot(limits_.start, this, [this] { script().giveUp(); });
  return ScriptSupervisor::launch();
}

void RemoteSupervisor::onConnected(AttachedConnection connection) {
  // There the program has only been started, and may take its time: nothing watches for silence.
  connectTo(std::move(connection.socket), std::move(connection.token),
            wire::StreamSource::kRecording);
}

/// The host there has welcomed and started it.
void RemoteSupervisor::greet() {
  watchTimer_.start();
  startAccepted_ = true;
}

void RemoteSupervisor::onConnectionEnded() {
  // How ssh ended tells whether the program did.
  if (!facts_.toldEnd) return exitTimer_.start();
  ScriptSupervisor::onConnectionEnded();
}

/// Where its host has given up the connection to it.
bool RemoteSupervisor::programGoesOn() const {
  return facts_.toldEnd && (facts_.toldEnd->reason == RunEnd::Reason::kHung ||
                            facts_.toldEnd->reason == RunEnd::Reason::kProtocolViolation);
}

/// The host there has written its recording to the end.
void RemoteSupervisor::onToldEnd(const RunEnd& end) {
  facts_.toldEnd = end;
  for (std::string* each : {&facts_.toldEnd->message, &facts_.toldEnd->openOp}) {
    *each = highwater::plainText(*each);
  }
  QStringList lines = QString::fromStdString(end.lastLines).split(u'\n');
  for (QString& each : lines) each = plainText(each);
  facts_.toldEnd->lastLines = lines.join(u'\n').toStdString();
  if (programGoesOn()) return concludeLater();
  awaitExit();
  // What the program has left behind there may hold ssh's connection open.
  QTimer::singleShot(kExitGrace, this, [this] { script().send(SIGTERM); });
}

void RemoteSupervisor::noteExit() {
  ScriptSupervisor::noteExit();
  if (facts_.toldEnd && (facts_.exit->signal != 0 || facts_.exit->exitCode == kSshFailed)) {
    const RunEnd& end = *facts_.toldEnd;
    const bool saysExit = end.reason == RunEnd::Reason::kFinished ||
                          end.reason == RunEnd::Reason::kExited ||
                          end.reason == RunEnd::Reason::kCrashed;
    const int code = saysExit ? end.exitCode : exitCodeFor(end);
    facts_.exit = {shellExitCode({code, end.signal}), 0};
  }
  if (const QString why = script().whyNotStartedThere(); !why.isEmpty()) {
    const bool isUsage = facts_.exit->exitCode == kExitUsage;
    facts_.notStarted = isUsage ? usageError(why.toStdString()) : failure(why.toStdString());
    facts_.exit.reset();
  }
  if (!facts_.lostHost.isEmpty()) facts_.exit.reset();
}

void RemoteSupervisor::completeFacts() {
  const bool endedThere =
      facts_.exit && facts_.exit->signal == 0 && facts_.exit->exitCode != kSshFailed;
  const QString recording = remoteRecording();
  if (facts_.toldEnd || recording.isEmpty() || (!facts_.greeted && endedThere)) return;
  facts_.lostHost = script().host();
  facts_.exit.reset();  // it is ssh's
  facts_.recordedThere = recording;
}

void RemoteSupervisor::onConcluded() {
  if (script().hasEnded() || programGoesOn()) return;
  // ssh goes on while anything there holds its output open.
  script().send(SIGTERM);
  QTimer::singleShot(kExitGrace, &script(), [this] { script().send(SIGKILL); });
}

void RemoteSupervisor::abort() {
  script().send(SIGTERM);  // it is ssh's: the program there runs on
  RunSupervisor::abort();
}

void RemoteSupervisor::signalProgram(int signal) {
  if (channel_ && channel_->isOpen()) {
    return (void)channel_->send(Command{nextCommandId_++, SignalProgram{signal}});
  }
  facts_.stopRequested = true;
  script().send(SIGTERM);  // ssh's
}

void RemoteSupervisor::endUnasked() {
  script().send(SIGTERM);  // ssh's
}

void RemoteSupervisor::killProgram() {
  if (!script().hasEnded()) signalProgram(SIGKILL);
}

QString RemoteSupervisor::remoteRecording() const {
  const QString path = script().remoteRecording();
  return path.isEmpty() ? path : script().host() + u':' + path;
}

}  // namespace highwater::session
