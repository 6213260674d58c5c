#include "session/session.h"

#include <QTimer>
#include <algorithm>

#include "session/command_text.h"
#include "session/frame_channel.h"
#include "session/local_endpoint.h"
#include "session/run_state_machine.h"
#include "session/run_verdict.h"
#include "session/worker_launch.h"
#include "session/worker_process.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::session {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kTick{250};
constexpr milliseconds kStopGrace{5000};
/// From a worker's last word (or its end) to the end of its process (or of its connection).
constexpr milliseconds kLeaveGrace{5000};
constexpr std::size_t kMaxUnanswered = 256;

}  // namespace

class Session::Private final : public QObject {
 public:
  Private(Session* session, LaunchOptions launchOptions)
      : q(session), options(std::move(launchOptions)) {
    ticker.setInterval(kTick);
    connect(&ticker, &QTimer::timeout, this, [this] { tick(); });
    for (QTimer* timer : {&stopTimer, &leaveTimer}) timer->setSingleShot(true);
    stopTimer.setInterval(kStopGrace);
    leaveTimer.setInterval(kLeaveGrace);
    connect(&stopTimer, &QTimer::timeout, this, [this] { forceEnd(); });
    connect(&leaveTimer, &QTimer::timeout, this, [this] { stayed(); });
  }

  void start();
  void launch();
  void greet(UniqueFd socket, std::string token);
  void take(std::span<const std::uint8_t> frame, const Message& message);
  void takeHello(const Hello& hello);
  void takeResult(const CommandResult& result);
  void sendCommand(CommandAction action, bool announced);
  void request(CommandAction action);
  void startedIfReady();
  void refuse(const QString& what, const std::string& why);
  void moved(bool changed);
  void tick();
  void watchStall();
  void endStall();
  void lastWord();
  void stayed();
  void forceEnd();
  void concludeIfOver();
  void conclude();

  struct Pending {
    std::uint32_t id = 0;
    CommandAction action;
    bool announced = false;  ///< asked for from outside: answered by commandAnswered()
  };

  Session* q;
  LaunchOptions options;
  std::optional<AttachedConnection> attached;
  SupervisionLimits limits;
  RunStateMachine machine;
  RunFacts facts;
  std::vector<MessageSink*> sinks;
  std::optional<Hello> hello;
  std::unique_ptr<WorkerProcess> process;
  std::unique_ptr<FrameChannel> channel;
  std::vector<Pending> pending;
  std::uint32_t nextCommand = 1;
  bool described = false;
  bool startAccepted = false;
  bool connectionOver = false;
  bool isStalled = false;
  milliseconds silence{0};
  QTimer ticker, stopTimer, leaveTimer;
};

void Session::Private::start() {
  if (!machine.start()) return;
  auto read = readSupervisionLimits();
  if (!read) {
    facts.notStarted = read.error();
    // The window connects and shows the end like any other: not from inside of start().
    QTimer::singleShot(0, this, [this] { conclude(); });
    emit q->stateChanged(machine.state());
    return;
  }
  limits = *read;
  emit q->stateChanged(machine.state());
  if (attached) {
    facts.program = QStringLiteral("the attached process");
    ticker.start();
    greet(std::move(attached->socket), std::move(attached->token));
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
    lastWord();
    concludeIfOver();
  });
  auto socket = program ? process->start(*program, workerArguments(options), options.environment)
                        : Result<UniqueFd>(program.error());
  if (!socket) {
    facts.notStarted = socket.error();
    QTimer::singleShot(0, this, [this] { conclude(); });
    return;
  }
  ticker.start();
  greet(std::move(*socket), {});
}

void Session::Private::greet(UniqueFd socket, std::string token) {
  channel =
      std::make_unique<FrameChannel>(std::move(socket), std::move(token),
                                     [this](std::span<const std::uint8_t> frame,
                                            const Message& message) { take(frame, message); });
  connect(channel.get(), &FrameChannel::received, this, [this] {
    silence = milliseconds{0};
    emit q->received();
  });
  connect(channel.get(), &FrameChannel::ended, this, [this] {
    connectionOver = true;
    lastWord();
    concludeIfOver();
  });
  connect(channel.get(), &FrameChannel::violated, this, [this](const QString& what) {
    facts.violation = what;
    forceEnd();
  });
}

void Session::Private::take(std::span<const std::uint8_t> frame, const Message& message) {
  facts.lastSeen.take(message);
  for (MessageSink* sink : sinks) sink->take(frame, message);
  if (const auto* greeting = std::get_if<Hello>(&message)) {
    takeHello(*greeting);
  } else if (std::holds_alternative<RunDescription>(message)) {
    described = true;
    startedIfReady();
  } else if (const auto* result = std::get_if<CommandResult>(&message)) {
    takeResult(*result);
  } else if (const auto* failed = std::get_if<Failure>(&message)) {
    facts.failure = *failed;
    lastWord();
  } else if (const auto* goodbye = std::get_if<Goodbye>(&message)) {
    facts.goodbye = *goodbye;
    lastWord();
  }
}

void Session::Private::takeHello(const Hello& greeting) {
  hello = greeting;
  facts.greeted = true;
  if (!process) facts.program = QStringLiteral("process %1").arg(greeting.processId);
  // What cannot be sent is not looked at: the end of the connection tells more.
  (void)channel->send(Welcome{wire::kProtocolVersion});
  for (const SetKnobs& knobs : options.scheduledKnobs) sendCommand(knobs, false);
  sendCommand(StartTraining{}, false);
}

void Session::Private::takeResult(const CommandResult& result) {
  const auto asked = std::find_if(pending.begin(), pending.end(),
                                  [&](const Pending& p) { return p.id == result.commandId; });
  if (asked == pending.end()) return;
  const Pending command = *asked;
  pending.erase(asked);
  const QString message = plainText(QString::fromStdString(result.message));
  const CommandAction& action = command.action;
  if (command.announced) emit q->commandAnswered(commandText(action), result.accepted, message);
  if (result.accepted) {
    if (std::holds_alternative<StartTraining>(action)) startAccepted = true;
    startedIfReady();
    if (std::holds_alternative<PauseTraining>(action)) moved(machine.paused());
    if (std::holds_alternative<ResumeTraining>(action)) moved(machine.resumed());
  } else if (!command.announced) {
    facts.refusedKnobs =
        QStringLiteral("the worker refused \"%1\": %2").arg(commandText(action), message);
    forceEnd();
  }
}

/// A worker answers its commands while it still loads its data: only what it will train and that it
/// was told to make a run.
void Session::Private::startedIfReady() {
  if (described && startAccepted) moved(machine.trainingStarted());
}

void Session::Private::sendCommand(CommandAction action, bool announced) {
  const QString what = commandText(action);
  if (pending.size() >= kMaxUnanswered) {
    if (announced) refuse(what, "too many commands wait for their answer");
    return;
  }
  const std::uint32_t id = nextCommand++;
  pending.push_back({id, action, announced});
  if (auto sent = channel->send(Command{id, std::move(action)}); !sent) {
    pending.pop_back();
    if (announced) refuse(what, sent.error().message);
  }
}

void Session::Private::request(CommandAction action) {
  if (auto permitted = machine.permits(action); !permitted) {
    refuse(commandText(action), permitted.error().message);
    return;
  }
  sendCommand(std::move(action), true);
}

void Session::Private::refuse(const QString& what, const std::string& why) {
  emit q->commandAnswered(what, false, QString::fromStdString(why));
}

void Session::Private::moved(bool changed) {
  if (changed) emit q->stateChanged(machine.state());
}

/// Counts silence in ticks and not by the clock: after this process was suspended, one tick comes
/// and then what the worker sent meanwhile.
void Session::Private::tick() {
  silence += kTick;
  watchStall();
  const bool starting = machine.state() == State::kStarting;
  if (silence < (starting ? limits.start : limits.silence)) return;
  facts.silentFor = silence;
  forceEnd();
}

/// The worker's threads that speak live on while the one that trains may stand for ever: in a read
/// that the device does not answer, in a lock.
void Session::Private::watchStall() {
  if (machine.state() == State::kStarting) return;
  const auto standing = facts.lastSeen.standing();
  if (!standing || standing->age < limits.silence) return endStall();
  if (isStalled) return;
  isStalled = true;
  emit q->stalled(stallText(*standing));
}

void Session::Private::endStall() {
  if (!isStalled) return;
  isStalled = false;
  emit q->stallEnded();
}

/// The worker has said all it will say: what remains is that its process ends.
void Session::Private::lastWord() {
  ticker.stop();
  stopTimer.stop();
  leaveTimer.start();
}

/// The worker's process should be gone by now, or its connection closed.
void Session::Private::stayed() {
  const bool said = facts.goodbye || facts.failure;
  if (!said && process && process->isRunning()) {
    facts.violation = QStringLiteral("connection closed: it went on without us");
  }
  forceEnd();
}

void Session::Private::forceEnd() {
  ticker.stop();
  stopTimer.stop();
  leaveTimer.stop();
  const bool running = process && process->isRunning();
  // First: a worker that finds its connection closed would end by itself, and hide what we did.
  if (running) process->kill();
  if (channel) channel->close();
  connectionOver = true;
  if (!running) {
    // Not from inside of a handler: the channel that called it may be at work.
    QTimer::singleShot(0, this, [this] { conclude(); });
  }
}

void Session::Private::concludeIfOver() {
  const bool processOver = !process || !process->isRunning();
  if (processOver && connectionOver) conclude();
}

void Session::Private::conclude() {
  if (machine.state() == State::kEnded) return;
  for (QTimer* timer : {&ticker, &stopTimer, &leaveTimer}) timer->stop();
  if (channel) channel->close();
  endStall();
  facts.lastLines = q->lastLines();
  const RunEnd end = judge(facts);
  const Message message = end;
  const wire::FrameBytes frame = wire::encode(message);
  for (MessageSink* sink : sinks) sink->take(frame, message);
  moved(machine.finish(end));
  emit q->ended(end);
}

Session::Session(LaunchOptions options, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>(this, std::move(options))) {}

Session::Session(AttachedConnection connection, LaunchOptions options, QObject* parent)
    : Session(std::move(options), parent) {
  d_->attached = std::move(connection);
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
void Session::pause() {
  d_->request(PauseTraining{});
}
void Session::resume() {
  d_->request(ResumeTraining{});
}
void Session::emptyCache() {
  d_->request(EmptyCache{});
}
void Session::setKnobs(const SetKnobs& knobs) {
  d_->request(knobs);
}

void Session::stop() {
  if (auto permitted = d_->machine.permits(StopTraining{}); !permitted) {
    d_->refuse(commandText(StopTraining{}), permitted.error().message);
    return;
  }
  d_->facts.stopRequested = true;
  d_->moved(d_->machine.stopRequested());
  if (d_->facts.greeted) {
    d_->sendCommand(StopTraining{}, true);
    d_->stopTimer.start();
  } else {
    d_->forceEnd();
  }
}

void Session::setProbeLevel(const SetProbeLevel& change) {
  d_->request(change);
}
void Session::acceptFallback(const FallbackAcceptance& acceptance) {
  const Message message = acceptance;
  const auto frame = wire::encode(message);
  if (!d_->described || d_->machine.state() == State::kEnded) return;
  for (MessageSink* sink : d_->sinks) sink->take(frame, message);
  emit received();
}

void Session::abort() {
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

QStringList Session::lastLines() const {
  return d_->process ? d_->process->lastLines() : QStringList();
}

qint64 Session::workerProcessId() const {
  if (d_->process) return d_->process->processId();
  return d_->hello ? static_cast<qint64>(d_->hello->processId) : 0;
}

}  // namespace highwater::session
