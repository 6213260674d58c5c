#include "session/run_supervisor.h"

#include <algorithm>

#include "core/plain_text.h"
#include "session/command_text.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::session {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kWatchInterval{250};
constexpr std::size_t kMaxUnanswered = 256;

}  // namespace

RunSupervisor::RunSupervisor(Session* session) : q(session) {
  watchTimer_.setInterval(kWatchInterval);
  exitTimer_.setInterval(kExitGrace);
  exitTimer_.setSingleShot(true);
  connect(&watchTimer_, &QTimer::timeout, this, [this] { watch(); });
  connect(&exitTimer_, &QTimer::timeout, this, [this] { onExitTimeout(); });
}

void RunSupervisor::start() {
  if (!machine_.start()) return;
  activity_.emplace("Highwater supervises a training run");
  auto read = readSupervisionLimits();
  if (read) limits_ = *read;
  emit q->stateChanged(machine_.state());
  auto started = read ? launch() : Result<void>(read.error());
  if (started) return;
  facts_.notStarted = started.error();
  concludeLater();
}

void RunSupervisor::connectTo(UniqueFd socket, std::string token, wire::StreamSource source) {
  channel_ = std::make_unique<FrameChannel>(
      std::move(socket), std::move(token),
      [this](std::span<const std::uint8_t> frame, const Message& message) {
        onMessage(frame, message);
      },
      source);
  connect(channel_.get(), &FrameChannel::received, this, [this] {
    silence_ = milliseconds{0};
    emit q->received();
  });
  connect(channel_.get(), &FrameChannel::ended, this, [this] {
    connectionOver_ = true;
    onConnectionEnded();
    concludeIfOver();
  });
  connect(channel_.get(), &FrameChannel::violated, this, [this](const QString& what) {
    facts_.violation = what;
    forceEnd();
  });
}

void RunSupervisor::onConnectionEnded() {
  awaitExit();
}

void RunSupervisor::onMessage(std::span<const std::uint8_t> frame, const Message& message) {
  // The sinks get it last: see conclude().
  if (const auto* end = std::get_if<RunEnd>(&message)) return onToldEnd(*end);
  facts_.position.take(message);
  for (MessageSink* sink : sinks_) sink->take(frame, message);
  if (const auto* greeting = std::get_if<Hello>(&message)) {
    hello_ = *greeting;
    facts_.greeted = true;
    greet();
  } else if (std::holds_alternative<RunDescription>(message)) {
    described_ = true;
    startTrainingIfReady();
  } else if (const auto* result = std::get_if<CommandResult>(&message)) {
    onResult(*result);
  } else if (const auto* failed = std::get_if<Failure>(&message)) {
    facts_.failure = *failed;
    awaitExit();
  } else if (const auto* goodbye = std::get_if<Goodbye>(&message)) {
    facts_.goodbye = *goodbye;
    awaitExit();
  }
}

void RunSupervisor::welcome(const std::vector<SetKnobs>& knobs) {
  // If this cannot be sent, the connection ends, and its end tells more than the error.
  (void)channel_->send(Welcome{wire::kProtocolVersion});
  for (const SetKnobs& each : knobs) send(each, false);
  send(StartTraining{}, false);
}

void RunSupervisor::onResult(const CommandResult& result) {
  const auto asked = std::find_if(unanswered_.begin(), unanswered_.end(),
                                  [&](const Unanswered& u) { return u.id == result.commandId; });
  if (asked == unanswered_.end()) return;
  const bool isRequested = asked->isRequested;
  const CommandAnswer answer{std::move(asked->action), result.accepted,
                             highwater::plainText(result.message), result.effectiveStep};
  unanswered_.erase(asked);
  const auto* level = std::get_if<SetProbeLevel>(&answer.command);
  if (answer.accepted && level && level->steps == 0) lastingLevel_ = level->level;
  if (isRequested) emit q->commandAnswered(answer);
  if (answer.accepted) {
    if (std::holds_alternative<StartTraining>(answer.command)) startAccepted_ = true;
    startTrainingIfReady();
    if (std::holds_alternative<PauseTraining>(answer.command)) emitStateIf(machine_.paused());
    if (std::holds_alternative<ResumeTraining>(answer.command)) emitStateIf(machine_.resumed());
  } else if (!isRequested) {
    facts_.refusedKnobs = refusalText(answer);
    forceEnd();
  }
}

/// The worker answers commands while it still loads its data. Training has started once the worker
/// has accepted StartTraining and has described the run.
void RunSupervisor::startTrainingIfReady() {
  if (described_ && startAccepted_) emitStateIf(machine_.trainingStarted());
}

void RunSupervisor::request(const CommandAction& action, std::uint32_t id) {
  if (auto permitted = machine_.permits(action); !permitted) {
    refuse(action, permitted.error().message, id);
  } else if (std::holds_alternative<StopTraining>(action)) {
    requestStop(id);
  } else {
    send(action, true, id);
  }
}

void RunSupervisor::requestStop(std::uint32_t id) {
  facts_.stopRequested = true;
  emitStateIf(machine_.stopRequested());
  if (!canAskToStop()) return endUnasked();
  send(StopTraining{}, true, id);
  onStopAsked();
}

void RunSupervisor::send(const CommandAction& action, bool isRequested, std::uint32_t id) {
  // What starts and ends a run is always sent: without it the worker would train for ever, or
  // never.
  const bool mayWait = isRequested && !std::holds_alternative<StopTraining>(action);
  if (mayWait && unanswered_.size() >= kMaxUnanswered) {
    refuse(action, "too many commands wait for their answer", id);
    return;
  }
  const bool isRelayed = id != 0;
  if (!isRelayed) id = nextCommandId_++;
  if (auto sent = channel_->send(Command{id, action}); sent) {
    unanswered_.push_back({id, action, isRequested});
  } else if (isRequested) {
    refuse(action, sent.error().message, isRelayed ? id : 0);
  }
}

void RunSupervisor::refuse(const CommandAction& action, const std::string& reason,
                           std::uint32_t id) {
  if (id != 0) (void)handOut(CommandResult{id, false, reason, 0});
  emit q->commandAnswered({action, false, reason, 0});
}

bool RunSupervisor::handOut(const Message& message) {
  if (!described_ || machine_.state() == Session::State::kEnded) return false;
  const auto frame = wire::encode(message);
  for (MessageSink* sink : sinks_) sink->take(frame, message);
  emit q->received();
  return true;
}

void RunSupervisor::emitStateIf(bool changed) {
  if (changed) emit q->stateChanged(machine_.state());
}

/// Counts silence in timer intervals instead of reading a clock: when this process has been
/// suspended, the timer fires once, and then the messages of the meantime are read.
void RunSupervisor::watch() {
  silence_ += kWatchInterval;
  watchStall();
  const bool starting = machine_.state() == Session::State::kStarting;
  if (silence_ < (starting ? limits_.start : limits_.silence)) return;
  facts_.silentFor = silence_;
  forceEnd();
}

/// The worker's heartbeats come from another thread than its training, which can hang by itself: in
/// a read that the device never completes, or in a lock.
void RunSupervisor::watchStall() {
  // A script starts for as long as it likes, and a worker has nothing open before it trains.
  if (machine_.state() == Session::State::kStarting) return;
  const auto stall = facts_.position.stall();
  if (!stall || stall->duration < limits_.silence) return endStall();
  if (isStalled_) return;
  isStalled_ = true;
  emit q->stalled(stallText(*stall));
}

void RunSupervisor::endStall() {
  if (!isStalled_) return;
  isStalled_ = false;
  emit q->stallEnded();
}

void RunSupervisor::stopTimers() {
  for (QTimer* timer : {&watchTimer_, &exitTimer_}) timer->stop();
}

void RunSupervisor::awaitExit() {
  watchTimer_.stop();
  exitTimer_.start();
}

void RunSupervisor::forceEnd() {
  stopTimers();
  // Kill before closing: a worker that sees its connection close may exit by itself, and its exit
  // code would hide that it was killed.
  const bool killed = kill();
  if (channel_) channel_->close();
  connectionOver_ = true;
  if (!killed) concludeLater();
}

void RunSupervisor::concludeIfOver() {
  if (!isRunning() && connectionOver_) conclude();
}

/// From the event loop, because start() or a handler of the channel may be on the stack.
void RunSupervisor::concludeLater() {
  QTimer::singleShot(0, this, [this] { conclude(); });
}

void RunSupervisor::conclude() {
  if (machine_.state() == Session::State::kEnded) return;
  stopTimers();
  if (channel_) channel_->close();
  endStall();
  facts_.lastLines = lastLines();
  completeFacts();
  const RunEnd end = runEndFrom(facts_);
  const Message message = end;
  const wire::FrameBytes frame = wire::encode(message);
  for (MessageSink* sink : sinks_) sink->take(frame, message);
  emitStateIf(machine_.finish(end));
  activity_.reset();
  onConcluded();
  emit q->ended(end);
}

void RunSupervisor::abort() {
  if (machine_.state() == Session::State::kIdle || machine_.state() == Session::State::kEnded) {
    return;
  }
  facts_.aborted = true;
  if (channel_) channel_->close();
  connectionOver_ = true;
  killAndWait();
  conclude();
}

}  // namespace highwater::session
