#include "session/session.h"

#include <QTimer>
#include <algorithm>
#include <array>
#include <csignal>

#include "core/activity.h"
#include "core/exit_codes.h"
#include "core/plain_text.h"
#include "session/checkpoint_files.h"
#include "session/command_text.h"
#include "session/frame_channel.h"
#include "session/local_endpoint.h"
#include "session/process_search.h"
#include "session/run_end.h"
#include "session/run_state_machine.h"
#include "session/script_process.h"
#include "session/worker_launch.h"
#include "session/worker_process.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::session {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kWatchInterval{250};
/// From StopTraining to the kill of a worker that is silent. One that is alive may finish its step:
/// see mayFinishStep().
constexpr milliseconds kStopGrace{5000};
constexpr milliseconds kLongestStop{60'000};
/// A worker that has stood for so many times LaunchLimits::silence is not finishing its step.
constexpr int kStoodStill = 3;
/// From the worker's last message to the end of its process and connection.
constexpr milliseconds kExitGrace{5000};
/// The end of a connection and that of its process are seen one after the other, in any order.
constexpr milliseconds kDisconnectGrace{1000};
constexpr std::size_t kMaxUnanswered = 256;
/// The exit code of an ssh that failed itself.
constexpr int kSshFailed = 255;
/// Of another machine, silence is more often the network's than the training's.
constexpr int kRemotePatience = 6;
/// What a host may send to the program that it runs for another one.
constexpr std::array kSentSignals = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM};

}  // namespace

class Session::Private final : public QObject {
 public:
  Private(Session* session, LaunchOptions launchOptions)
      : q(session), options(std::move(launchOptions)) {
    watchTimer.setInterval(kWatchInterval);
    connect(&watchTimer, &QTimer::timeout, this, [this] { watch(); });
    for (QTimer* timer : {&stopTimer, &exitTimer, &disconnectTimer}) timer->setSingleShot(true);
    stopTimer.setInterval(kStopGrace);
    exitTimer.setInterval(kExitGrace);
    disconnectTimer.setInterval(kDisconnectGrace);
    connect(&stopTimer, &QTimer::timeout, this, [this] { onStopTimeout(); });
    connect(&exitTimer, &QTimer::timeout, this, [this] { onExitTimeout(); });
    connect(&disconnectTimer, &QTimer::timeout, this, [this] {
      if (programRuns() && hello && !isRemote()) {
        facts.trainerRanOn = isRunning(static_cast<pid_t>(hello->processId));
      }
    });
  }

  void start();
  void launch();
  void startScript();
  void onScriptEnded();
  void connectTo(UniqueFd socket, std::string token);
  void onMessage(std::span<const std::uint8_t> frame, const Message& message);
  void onHello(const Hello& greeting);
  void onResult(const CommandResult& result);
  /// `id` is that of a command that another host has sent; 0: it is this one's own.
  void request(const CommandAction& action, std::uint32_t id);
  void requestStop(std::uint32_t id);
  void onStopTimeout();
  [[nodiscard]] bool mayFinishStep() const;
  void send(const CommandAction& action, bool isRequested, std::uint32_t id = 0);
  void refuse(const CommandAction& action, const std::string& reason, std::uint32_t id);
  void signalProgram(int signal);
  void signalAll(int signal);
  void onToldEnd(const RunEnd& end);
  [[nodiscard]] bool programGoesOnThere() const;
  [[nodiscard]] bool isRemote() const { return script && script->isRemote(); }
  void startTrainingIfReady();
  void emitStateIf(bool changed);
  void watch();
  void watchStall();
  void endStall();
  [[nodiscard]] bool programRuns() const;
  void awaitExit();
  void onExitTimeout();
  void forceEnd();
  void concludeIfOver();
  void conclude();
  void concludeLater();

  struct Unanswered {
    std::uint32_t id = 0;
    CommandAction action;
    bool isRequested = false;  ///< by a caller, who gets commandAnswered()
  };

  Session* q;
  LaunchOptions options;
  SupervisionLimits limits;
  RunStateMachine machine;
  RunFacts facts;
  std::vector<MessageSink*> sinks;
  std::optional<Hello> hello;
  std::unique_ptr<WorkerProcess> process;
  std::unique_ptr<ScriptProcess> script;
  std::unique_ptr<FrameChannel> channel;
  std::optional<events::ProbeLevel> lastingLevel;
  std::vector<Unanswered> unanswered;
  std::uint32_t nextCommandId = 1;
  bool described = false;
  bool startAccepted = false;
  bool connectionOver = false;
  bool isStalled = false;
  milliseconds silence{0}, stoppingFor{0};
  std::optional<Activity> activity;  ///< while the run lives
  std::uint32_t stepsAtStop = 0;     ///< that had ended when the stop was asked for
  QTimer watchTimer, stopTimer, exitTimer, disconnectTimer;
};

void Session::Private::start() {
  if (!machine.start()) return;
  activity.emplace("Highwater supervises a training run");
  auto read = readSupervisionLimits();
  if (!read) {
    facts.notStarted = read.error();
    concludeLater();
    emit q->stateChanged(machine.state());
    return;
  }
  limits = *read;
  if (isRemote()) limits.silence *= kRemotePatience;
  emit q->stateChanged(machine.state());
  if (script) {
    startScript();
  } else {
    launch();
  }
}

void Session::Private::launch() {
  facts.program = QStringLiteral("highwater-worker");
  auto program =
      options.workerProgram.isEmpty() ? findWorker() : Result<QString>(options.workerProgram);
  process = std::make_unique<WorkerProcess>();
  connect(process.get(), &WorkerProcess::linePrinted, q, &Session::linePrinted);
  connect(process.get(), &WorkerProcess::finished, this, [this](ProcessExit exit) {
    facts.exit = exit;
    awaitExit();
    concludeIfOver();
  });
  std::vector<int> passed;
  if (options.checkpoint) {
    const auto both = options.checkpoint->descriptors();
    passed.assign(both.begin(), both.end());
  }
  auto socket = program ? process->start(*program, workerArguments(options), options.environment,
                                         std::move(passed))
                        : Result<UniqueFd>(program.error());
  if (!socket) {
    facts.notStarted = socket.error();
    concludeLater();
    return;
  }
  connectTo(std::move(*socket), {});
}

void Session::Private::startScript() {
  connect(script.get(), &ScriptProcess::linePrinted, q, &Session::linePrinted);
  connect(script.get(), &ScriptProcess::openLineChanged, q, &Session::openLineChanged);
  connect(script.get(), &ScriptProcess::refused, q, &Session::linePrinted);
  connect(script.get(), &ScriptProcess::ended, this, [this] { onScriptEnded(); });
  connect(script.get(), &ScriptProcess::connected, this, [this] {
    if (auto connection = script->takeConnection()) {
      connectTo(std::move(connection->socket), std::move(connection->token));
    }
  });
  if (isRemote()) {
    nextCommandId = kFirstRelayedId;
    QTimer::singleShot(limits.start, this, [this] { script->giveUp(); });
  }
  if (auto started = script->start(); !started) {
    facts.notStarted = started.error();
    concludeLater();
  }
}

void Session::Private::onScriptEnded() {
  facts.exit = {script->exitCode(), script->signal()};
  if (facts.toldEnd && (facts.exit->signal != 0 || facts.exit->exitCode == kSshFailed)) {
    const RunEnd& end = *facts.toldEnd;
    const bool saysExit = end.reason == RunEnd::Reason::kFinished ||
                          end.reason == RunEnd::Reason::kExited ||
                          end.reason == RunEnd::Reason::kCrashed;
    const int code = saysExit ? end.exitCode : exitCodeFor(end);
    facts.exit = {shellExitCode({code, end.signal}), 0};
  }
  if (const QString why = script->whyNotStartedThere(); !why.isEmpty()) {
    const bool isUsage = facts.exit->exitCode == kExitUsage;
    facts.notStarted = isUsage ? usageError(why.toStdString()) : failure(why.toStdString());
    facts.exit.reset();
  }
  if (!facts.lostHost.isEmpty()) facts.exit.reset();
  facts.disconnectReason = script->disconnectReason();
  if (!facts.greeted) {
    facts.whyNothingTrained = QString::fromStdString(script->whyNothingTrained());
  }
  emit q->programEnded();
  if (!channel) return conclude();
  // A process that the program has left behind may hold the connection open.
  awaitExit();
  concludeIfOver();
}

void Session::Private::connectTo(UniqueFd socket, std::string token) {
  // On another machine the program has only been started.
  if (!isRemote()) watchTimer.start();
  channel = std::make_unique<FrameChannel>(
      std::move(socket), std::move(token),
      [this](std::span<const std::uint8_t> frame, const Message& message) {
        onMessage(frame, message);
      },
      isRemote() ? wire::StreamSource::kRecording : wire::StreamSource::kWorker);
  connect(channel.get(), &FrameChannel::received, this, [this] {
    silence = milliseconds{0};
    emit q->received();
  });
  connect(channel.get(), &FrameChannel::ended, this, [this] {
    if (isRemote() && !facts.toldEnd) {
      // How ssh ended tells whether the program did.
      connectionOver = true;
      exitTimer.start();
      return concludeIfOver();
    }
    connectionOver = true;
    disconnectTimer.start();
    awaitExit();
    concludeIfOver();
  });
  connect(channel.get(), &FrameChannel::violated, this, [this](const QString& what) {
    facts.violation = what;
    forceEnd();
  });
}

void Session::Private::onMessage(std::span<const std::uint8_t> frame, const Message& message) {
  // The sinks get it last: see conclude().
  if (const auto* end = std::get_if<RunEnd>(&message)) return onToldEnd(*end);
  facts.position.take(message);
  for (MessageSink* sink : sinks) sink->take(frame, message);
  if (const auto* greeting = std::get_if<Hello>(&message)) {
    onHello(*greeting);
  } else if (std::holds_alternative<RunDescription>(message)) {
    described = true;
    startTrainingIfReady();
  } else if (const auto* result = std::get_if<CommandResult>(&message)) {
    onResult(*result);
  } else if (const auto* failed = std::get_if<Failure>(&message)) {
    facts.failure = *failed;
    awaitExit();
  } else if (const auto* goodbye = std::get_if<Goodbye>(&message)) {
    facts.goodbye = *goodbye;
    awaitExit();
  }
}

void Session::Private::onHello(const Hello& greeting) {
  hello = greeting;
  facts.greeted = true;
  if (isRemote()) {  // the host there has welcomed and started it
    watchTimer.start();
    startAccepted = true;
    return;
  }
  // If this cannot be sent, the connection ends, and its end tells more than the error.
  (void)channel->send(Welcome{wire::kProtocolVersion});
  for (const SetKnobs& knobs : options.scheduledKnobs) send(knobs, false);
  send(StartTraining{}, false);
}

/// Where its host has given up the connection to it.
bool Session::Private::programGoesOnThere() const {
  return facts.toldEnd && (facts.toldEnd->reason == RunEnd::Reason::kHung ||
                           facts.toldEnd->reason == RunEnd::Reason::kProtocolViolation);
}

/// The host on another machine has written its recording to the end.
void Session::Private::onToldEnd(const RunEnd& end) {
  facts.toldEnd = end;
  for (std::string* each : {&facts.toldEnd->message, &facts.toldEnd->openOp}) {
    *each = highwater::plainText(*each);
  }
  QStringList lines = QString::fromStdString(end.lastLines).split(u'\n');
  for (QString& each : lines) each = plainText(each);
  facts.toldEnd->lastLines = lines.join(u'\n').toStdString();
  if (programGoesOnThere()) return concludeLater();
  awaitExit();
  // What the program has left behind there may hold ssh's connection open.
  QTimer::singleShot(kExitGrace, this, [this] { script->send(SIGTERM); });
}

void Session::Private::onResult(const CommandResult& result) {
  const auto asked = std::find_if(unanswered.begin(), unanswered.end(),
                                  [&](const Unanswered& u) { return u.id == result.commandId; });
  if (asked == unanswered.end()) return;
  const bool isRequested = asked->isRequested;
  const CommandAnswer answer{std::move(asked->action), result.accepted,
                             highwater::plainText(result.message), result.effectiveStep};
  unanswered.erase(asked);
  const auto* level = std::get_if<SetProbeLevel>(&answer.command);
  if (answer.accepted && level && level->steps == 0) lastingLevel = level->level;
  if (isRequested) emit q->commandAnswered(answer);
  if (answer.accepted) {
    if (std::holds_alternative<StartTraining>(answer.command)) startAccepted = true;
    startTrainingIfReady();
    if (std::holds_alternative<PauseTraining>(answer.command)) emitStateIf(machine.paused());
    if (std::holds_alternative<ResumeTraining>(answer.command)) emitStateIf(machine.resumed());
  } else if (!isRequested) {
    facts.refusedKnobs = refusalText(answer);
    forceEnd();
  }
}

/// The worker answers commands while it still loads its data. Training has started once the worker
/// has accepted StartTraining and has described the run.
void Session::Private::startTrainingIfReady() {
  if (described && startAccepted) emitStateIf(machine.trainingStarted());
}

void Session::Private::request(const CommandAction& action, std::uint32_t id) {
  if (auto permitted = machine.permits(action); !permitted) {
    refuse(action, permitted.error().message, id);
  } else if (std::holds_alternative<StopTraining>(action)) {
    requestStop(id);
  } else {
    send(action, true, id);
  }
}

void Session::Private::requestStop(std::uint32_t id) {
  facts.stopRequested = true;
  emitStateIf(machine.stopRequested());
  if (facts.greeted || (isRemote() && channel)) {
    send(StopTraining{}, true, id);
    // A script may save its model before it ends.
    stoppingFor = milliseconds{0};
    stepsAtStop = facts.position.stepsDone();
    if (!script) stopTimer.start();
  } else if (isRemote()) {
    script->send(SIGTERM);
  } else if (script) {
    signalAll(SIGINT);
  } else {
    forceEnd();
  }
}

void Session::Private::onStopTimeout() {
  stoppingFor += kStopGrace;
  if (described && stoppingFor < kLongestStop && mayFinishStep()) return stopTimer.start();
  facts.notStoppedFor = stoppingFor;
  forceEnd();
}

/// Whether heartbeats come, and the training neither stands still nor goes on with further steps. A
/// step of a large batch may take many seconds.
bool Session::Private::mayFinishStep() const {
  const auto stall = facts.position.stall();
  const bool stands = stall && stall->duration >= limits.silence * kStoodStill;
  // The command may have crossed the end of a step.
  const bool goesOn = facts.position.stepsDone() > stepsAtStop + 2;
  return silence < kStopGrace && !stands && !goesOn;
}

void Session::Private::send(const CommandAction& action, bool isRequested, std::uint32_t id) {
  // What starts and ends a run is always sent: without it the worker would train for ever, or
  // never.
  const bool mayWait = isRequested && !std::holds_alternative<StopTraining>(action);
  if (mayWait && unanswered.size() >= kMaxUnanswered) {
    refuse(action, "too many commands wait for their answer", id);
    return;
  }
  const bool isRelayed = id != 0;
  if (!isRelayed) id = nextCommandId++;
  if (auto sent = channel->send(Command{id, action}); sent) {
    unanswered.push_back({id, action, isRequested});
  } else if (isRequested) {
    refuse(action, sent.error().message, isRelayed ? id : 0);
  }
}

void Session::Private::refuse(const CommandAction& action, const std::string& reason,
                              std::uint32_t id) {
  if (id != 0) (void)q->handOut(CommandResult{id, false, reason, 0});
  emit q->commandAnswered({action, false, reason, 0});
}

void Session::Private::emitStateIf(bool changed) {
  if (changed) emit q->stateChanged(machine.state());
}

/// Counts silence in timer intervals instead of reading a clock: when this process has been
/// suspended, the timer fires once, and then the messages of the meantime are read.
void Session::Private::watch() {
  silence += kWatchInterval;
  watchStall();
  const bool starting = machine.state() == State::kStarting;
  if (silence < (starting ? limits.start : limits.silence)) return;
  facts.silentFor = silence;
  forceEnd();
}

/// The worker's heartbeats come from another thread than its training, which can hang by itself: in
/// a read that the device never completes, or in a lock.
void Session::Private::watchStall() {
  // A script starts for as long as it likes, and a worker has nothing open before it trains.
  if (machine.state() == State::kStarting) return;
  const auto stall = facts.position.stall();
  if (!stall || stall->duration < limits.silence) return endStall();
  if (isStalled) return;
  isStalled = true;
  emit q->stalled(stallText(*stall));
}

void Session::Private::endStall() {
  if (!isStalled) return;
  isStalled = false;
  emit q->stallEnded();
}

/// The user's program has started, and has not ended yet.
bool Session::Private::programRuns() const {
  return script && !facts.notStarted && !script->hasEnded();
}

/// The worker has sent its last message: its process must end within kExitGrace.
void Session::Private::awaitExit() {
  watchTimer.stop();
  stopTimer.stop();
  // After its training a script may save, plot or upload for as long as it likes.
  if (programRuns()) return;
  exitTimer.start();
}

void Session::Private::onExitTimeout() {
  const bool said = facts.goodbye || facts.failure;
  if (!said && process && process->isRunning()) {
    facts.violation = QStringLiteral("connection closed: the process went on without it");
  }
  forceEnd();
}

void Session::Private::forceEnd() {
  for (QTimer* timer : {&watchTimer, &stopTimer, &exitTimer}) timer->stop();
  const bool running = process && process->isRunning();
  // Kill before closing: a worker that sees its connection close may exit by itself, and its exit
  // code would hide that it was killed.
  if (running) process->kill();
  if (channel) channel->close();
  connectionOver = true;
  if (!running) concludeLater();
}

void Session::Private::concludeIfOver() {
  const bool workerRuns = process && process->isRunning();
  if (!programRuns() && !workerRuns && connectionOver) conclude();
}

/// From the event loop, because start() or a handler of the channel may be on the stack.
void Session::Private::concludeLater() {
  QTimer::singleShot(0, this, [this] { conclude(); });
}

void Session::Private::conclude() {
  if (machine.state() == State::kEnded) return;
  for (QTimer* timer : {&watchTimer, &stopTimer, &exitTimer}) timer->stop();
  if (channel) channel->close();
  endStall();
  facts.lastLines = q->lastLines();
  const bool endedThere =
      facts.exit && facts.exit->signal == 0 && facts.exit->exitCode != kSshFailed;
  if (!facts.toldEnd && !q->remoteRecording().isEmpty() && (facts.greeted || !endedThere)) {
    facts.lostHost = script->host();
    facts.exit.reset();  // it is ssh's
    facts.recordedThere = q->remoteRecording();
  }
  const RunEnd end = runEndFrom(facts);
  const Message message = end;
  const wire::FrameBytes frame = wire::encode(message);
  for (MessageSink* sink : sinks) sink->take(frame, message);
  emitStateIf(machine.finish(end));
  activity.reset();
  // ssh goes on while anything there holds its output open.
  if (isRemote() && !script->hasEnded() && !programGoesOnThere()) {
    script->send(SIGTERM);
    QTimer::singleShot(kExitGrace, script.get(), [this] { script->send(SIGKILL); });
  }
  emit q->ended(end);
}

Session::Session(LaunchOptions options, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>(this, std::move(options))) {}

Session::Session(ScriptOptions script, QObject* parent) : Session(LaunchOptions{}, parent) {
  d_->facts.program = programText(script.command);
  d_->facts.isScript = true;
  d_->script = std::make_unique<ScriptProcess>(std::move(script));
}

Session::~Session() {
  abort();
}

void Session::addSink(MessageSink* sink) {
  d_->sinks.push_back(sink);
}
void Session::start() {
  d_->start();
}
void Session::request(const CommandAction& command) {
  d_->request(command, 0);
}
void Session::relay(const Command& command) {
  const auto* sent = std::get_if<SignalProgram>(&command.action);
  if (!sent || !d_->script) return d_->request(command.action, command.id);
  if (std::find(kSentSignals.begin(), kSentSignals.end(), sent->signal) == kSentSignals.end()) {
    return d_->refuse(command.action, "that signal is not sent on", command.id);
  }
  if (sent->signal == SIGKILL) return killProgram();
  if (sent->signal != SIGINT && sent->signal != SIGQUIT) return signalProgram(sent->signal);
  d_->signalAll(sent->signal);
}
void Session::stop() {
  // The second time a script need not come to the end of a step, which may never be.
  if (d_->script && d_->machine.state() == State::kStopping) return signalProgram(SIGINT);
  d_->request(StopTraining{}, 0);
}

void Session::acceptFallback(const FallbackAcceptance& acceptance) {
  (void)handOut(acceptance);
}

bool Session::addNote(const Note& note) {
  return handOut(note);
}

bool Session::handOut(const Message& message) {
  if (!d_->described || d_->machine.state() == State::kEnded) return false;
  const auto frame = wire::encode(message);
  for (MessageSink* sink : d_->sinks) sink->take(frame, message);
  emit received();
  return true;
}

void Session::abort() {
  if (d_->isRemote()) d_->script->send(SIGTERM);  // it is ssh's: the program there runs on
  if (d_->machine.state() == State::kIdle || d_->machine.state() == State::kEnded) return;
  d_->facts.aborted = true;
  if (d_->channel) d_->channel->close();
  d_->connectionOver = true;
  if (d_->process) d_->process->killAndWait();
  d_->conclude();
}

Session::State Session::state() const {
  return d_->machine.state();
}
const std::optional<RunEnd>& Session::end() const {
  return d_->machine.end();
}
const std::optional<Hello>& Session::hello() const {
  return d_->hello;
}
std::optional<events::ProbeLevel> Session::lastingProbeLevel() const {
  return d_->lastingLevel;
}

QStringList Session::lastLines() const {
  if (d_->script) return d_->script->lastLines();
  return d_->process ? d_->process->lastLines() : QStringList();
}

void Session::signalProgram(int signal) {
  d_->signalProgram(signal);
}

void Session::Private::signalProgram(int signal) {
  if (!script) return;
  if (!isRemote()) return script->send(signal);
  if (channel && channel->isOpen()) {
    return (void)channel->send(Command{nextCommandId++, SignalProgram{signal}});
  }
  facts.stopRequested = true;
  script->send(SIGTERM);  // ssh's
}

void Session::killProgram() {
  if (!d_->script || d_->script->hasEnded()) return;
  if (d_->isRemote()) return signalProgram(SIGKILL);
  d_->signalAll(SIGKILL);
}

/// The user's program on this machine, with all that it has started.
void Session::Private::signalAll(int signal) {
  // While its connection is open, its number is still its own.
  const bool isConnected = hello && !disconnectTimer.isActive();
  script->signalAll(signal, isConnected ? static_cast<pid_t>(hello->processId) : 0);
}

const std::optional<ProcessExit>& Session::programExit() const {
  return d_->facts.exit;
}

QString Session::remoteRecording() const {
  const QString path = d_->script ? d_->script->remoteRecording() : QString();
  return path.isEmpty() ? path : d_->script->host() + u':' + path;
}

bool Session::programRuns() const {
  return d_->programRuns();
}

qint64 Session::processLeftBehind() const {
  return d_->script && d_->script->hasEnded() ? d_->script->leftBehind() : 0;
}

qint64 Session::workerProcessId() const {
  if (d_->process) return d_->process->processId();
  if (d_->isRemote()) return 0;
  if (d_->script && !d_->hello) return d_->script->processId();
  return d_->hello ? static_cast<qint64>(d_->hello->processId) : 0;
}

}  // namespace highwater::session
