#include "session/session.h"

#include "session/checkpoint_files.h"
#include "session/remote_supervisor.h"
#include "session/worker_supervisor.h"

namespace highwater::session {
namespace {

std::unique_ptr<RunSupervisor> supervisorOf(Session* session, ScriptOptions script) {
  if (script.host.isEmpty()) return std::make_unique<ScriptSupervisor>(session, std::move(script));
  return std::make_unique<RemoteSupervisor>(session, std::move(script));
}

}  // namespace

Session::Session(LaunchOptions options, QObject* parent)
    : QObject(parent), supervisor_(std::make_unique<WorkerSupervisor>(this, std::move(options))) {}

Session::Session(ScriptOptions script, QObject* parent)
    : QObject(parent), supervisor_(supervisorOf(this, std::move(script))) {}

Session::~Session() {
  abort();
}

void Session::addSink(MessageSink* sink) {
  supervisor_->addSink(sink);
}
void Session::start() {
  supervisor_->start();
}
void Session::request(const CommandAction& command) {
  supervisor_->request(command);
}
void Session::relay(const Command& command) {
  supervisor_->relay(command);
}
void Session::acceptFallback(const FallbackAcceptance& acceptance) {
  (void)supervisor_->handOut(acceptance);
}
bool Session::addNote(const Note& note) {
  return supervisor_->handOut(note);
}
void Session::stop() {
  supervisor_->stop();
}
void Session::signalProgram(int signal) {
  supervisor_->signalProgram(signal);
}
void Session::killProgram() {
  supervisor_->killProgram();
}
void Session::abort() {
  supervisor_->abort();
}

Session::State Session::state() const {
  return supervisor_->machine().state();
}
const std::optional<RunEnd>& Session::end() const {
  return supervisor_->machine().end();
}
const std::optional<Hello>& Session::hello() const {
  return supervisor_->hello();
}
std::optional<events::ProbeLevel> Session::lastingProbeLevel() const {
  return supervisor_->lastingLevel();
}
QStringList Session::lastLines() const {
  return supervisor_->lastLines();
}
const std::optional<ProcessExit>& Session::programExit() const {
  return supervisor_->facts().exit;
}
QString Session::remoteRecording() const {
  return supervisor_->remoteRecording();
}
bool Session::programRuns() const {
  return supervisor_->programRuns();
}
qint64 Session::processLeftBehind() const {
  return supervisor_->processLeftBehind();
}
qint64 Session::workerProcessId() const {
  return supervisor_->workerProcessId();
}

}  // namespace highwater::session
