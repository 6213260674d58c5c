#include "session/worker_supervisor.h"

#include "session/checkpoint_files.h"

namespace highwater::session {

using std::chrono::milliseconds;

namespace {

/// From StopTraining to the kill of a worker that is silent. One that is alive may finish its step:
/// see mayFinishStep().
constexpr milliseconds kStopGrace{5000};
constexpr milliseconds kLongestStop{60'000};
/// A worker that has stood for so many times SupervisionLimits::silence is not finishing its step.
constexpr int kStoodStill = 3;

}  // namespace

WorkerSupervisor::WorkerSupervisor(Session* session, LaunchOptions options)
    : RunSupervisor(session), options_(std::move(options)) {
  facts_.program = QStringLiteral("highwater-worker");
  stopTimer_.setInterval(kStopGrace);
  stopTimer_.setSingleShot(true);
  connect(&stopTimer_, &QTimer::timeout, this, [this] { onStopTimeout(); });
}

Result<void> WorkerSupervisor::launch() {
  auto program =
      options_.workerProgram.isEmpty() ? findWorker() : Result<QString>(options_.workerProgram);
  if (!program) return program.error();
  process_ = std::make_unique<WorkerProcess>();
  connect(process_.get(), &WorkerProcess::linePrinted, q, &Session::linePrinted);
  connect(process_.get(), &WorkerProcess::finished, this, [this](ProcessExit exit) {
    facts_.exit = exit;
    awaitExit();
    concludeIfOver();
  });
  std::vector<int> passed;
  if (options_.checkpoint) {
    const auto both = options_.checkpoint->descriptors();
    passed.assign(both.begin(), both.end());
  }
  auto socket =
      process_->start(*program, workerArguments(options_), options_.environment, std::move(passed));
  if (!socket) return socket.error();
  watchTimer_.start();
  connectTo(std::move(*socket), {}, wire::StreamSource::kWorker);
  return {};
}

bool WorkerSupervisor::kill() {
  if (!isRunning()) return false;
  process_->kill();
  return true;
}

void WorkerSupervisor::killAndWait() {
  if (process_) process_->killAndWait();
}

void WorkerSupervisor::onStopAsked() {
  stoppingFor_ = milliseconds{0};
  stepsAtStop_ = facts_.position.stepsDone();
  stopTimer_.start();
}

void WorkerSupervisor::onStopTimeout() {
  stoppingFor_ += kStopGrace;
  if (described_ && stoppingFor_ < kLongestStop && mayFinishStep()) return stopTimer_.start();
  facts_.notStoppedFor = stoppingFor_;
  forceEnd();
}

/// Whether heartbeats come, and the training neither stands still nor goes on with further steps. A
/// step of a large batch may take many seconds.
bool WorkerSupervisor::mayFinishStep() const {
  const auto stall = facts_.position.stall();
  const bool stands = stall && stall->duration >= limits_.silence * kStoodStill;
  // The command may have crossed the end of a step.
  const bool goesOn = facts_.position.stepsDone() > stepsAtStop_ + 2;
  return silence_ < kStopGrace && !stands && !goesOn;
}

void WorkerSupervisor::onExitTimeout() {
  const bool said = facts_.goodbye || facts_.failure;
  if (!said && isRunning()) {
    facts_.violation = QStringLiteral("connection closed: the process went on without it");
  }
  forceEnd();
}

void WorkerSupervisor::awaitExit() {
  stopTimer_.stop();
  RunSupervisor::awaitExit();
}

void WorkerSupervisor::stopTimers() {
  stopTimer_.stop();
  RunSupervisor::stopTimers();
}

QStringList WorkerSupervisor::lastLines() const {
  return process_ ? process_->lastLines() : QStringList();
}

qint64 WorkerSupervisor::workerProcessId() const {
  return process_ ? process_->processId() : 0;
}

}  // namespace highwater::session
