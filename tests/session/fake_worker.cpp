// A worker without libtorch: it speaks the protocol, and misbehaves as $FAKE_WORKER says. Tests of
// the session start it as a real process.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/knobs.h"
#include "core/out_of_memory.h"
#include "core/units.h"
#include "process/run_control.h"
#include "support/sample_run.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/limits.h"

namespace {

using namespace highwater;

std::string argument(int argc, char** argv, const std::string& name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return {};
}

int connectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    std::perror("connect");
    std::_Exit(1);
  }
  return fd;
}

class FakeWorker {
 public:
  FakeWorker(int fd, std::string token, std::string mode, std::uint32_t steps, Knobs knobs)
      : fd_(fd), token_(std::move(token)), mode_(std::move(mode)), steps_(steps), knobs_(knobs) {}

  int run() {
    if (mode_ == "silent") return sleepForEver();
    if (mode_ == "garbage") {
      sendBytes("this is not a frame, but long enough for a header");
      return sleepForEver();
    }
    test::SampleRunOptions sample;
    if (mode_ == "sample") sample.steps = steps_;
    sample_ = test::makeSampleRun(sample);
    Hello hello = std::get<Hello>(sample_[0]);
    hello.token = token_;
    hello.processId = static_cast<std::uint64_t>(::getpid());
    if (mode_ == "knobs") hello.limits = {4 * kGiB, 1.4, 1.7, 32 * kGiB};
    if (mode_ == "version") hello.protocolVersion = wire::kProtocolVersion + 1;
    if (mode_ == "drip") drip(hello);
    send(hello);
    if (mode_ == "describe") return 0;
    if (mode_ == "failure") {
      send(Failure{Failure::Kind::kUsage, "data.csv has no column \"label\""});
      return 2;
    }
    if (mode_ == "knobs") return trainWithKnobs(std::get<RunDescription>(sample_[1]));
    while (!started_) readCommands(-1);
    send(std::get<RunDescription>(sample_[1]));
    send(std::get<Definitions>(sample_[2]));
    return train();
  }

 private:
  int train() {
    if (mode_ == "sample") return playSample();
    if (mode_ == "outofmemory") {
      send(Failure{Failure::Kind::kOutOfMemory, "MPS backend out of memory"});
      return 3;
    }
    if (mode_ == "daemon" || mode_ == "daemonkill") startDaemon();
    for (step_ = 1; steps_ == 0 || step_ <= steps_; ++step_) {
      beat();
      if (step_ == 5) misbehave();
      if (step_ == 5 && mode_ == "stuck") standInOneOp();
      readCommands(20);
      while (paused_ && !stopped_) readCommands(-1);
      if (stopped_) break;
    }
    send(Goodbye{step_ - 1, stopped_});
    return 0;
  }

  /// The whole sample run except RunEnd, which the session writes.
  int playSample() {
    std::vector<test::OwnedMessage> events(sample_.begin() + 3, sample_.end() - 2);
    test::forEachMessage(events, [this](const Message& message) {
      send(message);
      readCommands(1);
    });
    send(Goodbye{steps_, false});
    return 0;
  }

  void misbehave() {
    if (mode_ == "exit7") {
      std::printf("first line\nsecond \x1b[31mred\x1b[0m line\n");
      std::fflush(stdout);
      std::fprintf(stderr, "last words");
      std::_Exit(7);
    }
    if (mode_ == "daemonkill") ::raise(SIGKILL);
    if (mode_ == "kill") openSpanThen([] { ::raise(SIGKILL); });
    if (mode_ == "abort") openSpanThen([] { std::abort(); });
    if (mode_ == "stop") openSpanThen([] { ::raise(SIGSTOP); });
    if (mode_ == "close") {
      ::close(fd_);
      sleepForEver();
    }
    if (mode_ == "undefined") {
      test::OwnedBatch batch;
      batch.completeUpToNs = ++now_;
      batch.syncPoints.emplace_back(1, 1, 4, 1, 999, 0, 0, 1, events::SyncKind::ScalarRead,
                                    events::Phase::Forward, 0);
      send(batch.view());
      sleepForEver();
    }
  }

  /// Obeys commands and knobs as a worker does. A step takes 40 MiB and 0.5 MiB a token, and runs
  /// out of memory above $FAKE_WORKER_REFUSES_MIB; then it is tried again with half the batch.
  int trainWithKnobs(RunDescription run) {
    run.knobs = knobs_;
    process::RunControl control(knobs_, {.batchSize = run.maxBatchSize, .sequenceLength = 256},
                                steps_);
    control_ = &control;
    std::thread([this] {
      for (;;) readCommands(-1);
    }).detach();
    if (!control.waitForStart()) std::_Exit(0);
    send(run);
    send(std::get<Definitions>(sample_[2]));
    for (;;) {
      const process::NextAction action = control.next();
      using Kind = process::NextAction::Kind;
      if (action.kind == Kind::kStop) break;
      if (action.kind == Kind::kStep) {
        trainStep(action);
      } else {
        mark(action.kind == Kind::kPaused    ? events::MarkerKind::Paused
             : action.kind == Kind::kResumed ? events::MarkerKind::Resumed
                                             : events::MarkerKind::CacheEmptied,
             action.step);
      }
    }
    send(Goodbye{step_, true});
    std::_Exit(0);
  }

  void trainStep(const process::NextAction& action) {
    constexpr std::int64_t kStepNs = 1'000'000;
    for (const process::KnobChange& each : action.changes) {
      mark(each.kind, action.step, each.before, each.after);
    }
    if (action.probeLevel != level_) {
      mark(events::MarkerKind::ProbeLevel, action.step, static_cast<double>(level_),
           static_cast<double>(action.probeLevel));
      level_ = action.probeLevel;
    }
    const Knobs& knobs = action.knobs;
    const std::uint64_t tokens = std::uint64_t{knobs.batchSize} * knobs.sequenceLength;
    const std::uint64_t bytes = 40 * kMiB + tokens * kMiB / 2;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const char* refuses = std::getenv("FAKE_WORKER_REFUSES_MIB");
    if (refuses != nullptr && bytes > std::stoull(refuses) * kMiB) {
      mark(events::MarkerKind::OutOfMemory, action.step);
      SetKnobs half;
      half.batchSize = knobs.batchSize / 2;
      control_->repeatStep(half);
      return;
    }
    const char* evaluates = std::getenv("FAKE_WORKER_EVALUATES");
    if (evaluates != nullptr && action.step % 3 == 0) {
      mark(events::MarkerKind::OutOfMemory, action.step, 0, 0, kEvaluationText);
    }
    step_ = action.step;
    test::OwnedBatch batch;
    now_ += 2 * kStepNs;
    batch.completeUpToNs = now_;
    batch.steps.emplace_back(now_ - kStepNs, kStepNs - 1, bytes, bytes + 8 * kMiB, kStepNs - 1,
                             step_, knobs.batchSize, knobs.sequenceLength,
                             static_cast<std::uint32_t>(tokens), 0.5F, 1, 1);
    batch.heartbeats.emplace_back(now_, step_, 0);
    send(batch.view());
  }

  void mark(events::MarkerKind kind, std::uint32_t step, double before = 0, double after = 0,
            NameId text = kNoId) {
    if (text == kEvaluationText && !isTextDefined_) {
      Definitions texts;
      texts.names.push_back({kEvaluationText, std::string(kInEvaluation) + "no memory"});
      send(texts);
      isTextDefined_ = true;
    }
    test::OwnedBatch batch;
    batch.completeUpToNs = ++now_;
    batch.markers.emplace_back(now_, before, after, step, text, kind);
    send(batch.view());
  }

  /// A process in a session of its own whose parent has exited. It prints its id.
  static void startDaemon() {
    const pid_t parent = ::fork();
    if (parent != 0) {
      ::waitpid(parent, nullptr, 0);
      return;
    }
    ::setsid();
    if (::fork() != 0) std::_Exit(0);
    std::printf("daemon %d\n", static_cast<int>(::getpid()));
    std::fflush(stdout);
    sleepForEver();
  }

  /// Sends a message so slowly, a byte every 100 ms, that it takes longer than any test waits.
  void drip(const Message& message) {
    for (const std::uint8_t byte : wire::encode(message)) {
      sendBytes({reinterpret_cast<const char*>(&byte), 1});
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  /// Training stands in a loss read until it gets another batch size; heartbeats and answers to
  /// commands go on.
  void standInOneOp() {
    const std::int64_t begin = now_, from = monotonicNs();
    const std::uint32_t batchBefore = batch_;
    while (batch_ == batchBefore) {
      now_ = begin + monotonicNs() - from + 1;
      test::OwnedBatch batch;
      batch.completeUpToNs = now_;
      batch.heartbeats.emplace_back(now_, step_, 0);
      for (const NameId name : {test::kCopy, test::kScalarRead}) {
        batch.openSpans.emplace_back(begin, now_, step_, name, test::kTrainingThread,
                                     name == test::kCopy ? 1 : 2, events::Phase::LossRead);
      }
      send(batch.view());
      readCommands(100);
    }
  }

  template <typename F>
  void openSpanThen(F&& end) {
    test::OwnedBatch batch;
    batch.completeUpToNs = ++now_;
    batch.openSpans.emplace_back(now_ - 1, now_, step_, test::kNonzero, test::kTrainingThread, 2,
                                 events::Phase::Forward);
    send(batch.view());
    end();
  }

  void beat() {
    now_ += 1'000'000;
    test::OwnedBatch batch;
    batch.completeUpToNs = now_;
    if (step_ > 1) {
      batch.steps.emplace_back(now_ - 1'000'000, 900'000, 1000, 2000, -1, step_ - 1, batch_, 64,
                               batch_ * 64, 0.5F, 1, 1);
    }
    batch.heartbeats.emplace_back(now_, step_, paused_ ? 1 : 0);
    send(batch.view());
  }

  void readCommands(int timeoutMs) {
    pollfd poll{fd_, POLLIN, 0};
    if (::poll(&poll, 1, timeoutMs) <= 0) return;
    std::uint8_t bytes[4096];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n <= 0) std::_Exit(0);
    reader_.append({bytes, static_cast<std::size_t>(n)});
    for (;;) {
      auto frame = reader_.next();
      if (!frame || !frame->has_value()) return;
      auto message = wire::decode(**frame);
      if (!message) return;
      if (const auto* command = std::get_if<Command>(&*message)) obey(*command);
    }
  }

  void obey(const Command& command) {
    if (std::holds_alternative<StopTraining>(command.action) && mode_ == "deaf") return;
    if (control_ != nullptr) return send(control_->obey(command));
    CommandResult result{command.id, true, "", step_ + 1};
    if (const auto* knobs = std::get_if<SetKnobs>(&command.action)) {
      if (knobs->sequenceLength.value_or(0) > 256) {
        result = {command.id, false, "the position table ends at 256", 0};
      } else {
        batch_ = knobs->batchSize.value_or(batch_);
      }
    }
    started_ = started_ || std::holds_alternative<StartTraining>(command.action);
    if (std::holds_alternative<PauseTraining>(command.action)) paused_ = true;
    if (std::holds_alternative<ResumeTraining>(command.action)) paused_ = false;
    if (std::holds_alternative<StopTraining>(command.action)) stopped_ = true;
    send(result);
  }

  void send(const Message& message) {
    const wire::FrameBytes frame = wire::encode(message);
    const std::lock_guard lock(sendMutex_);
    sendBytes({reinterpret_cast<const char*>(frame.data()), frame.size()});
  }

  void sendBytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) std::_Exit(0);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  [[noreturn]] static int sleepForEver() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  static constexpr NameId kEvaluationText = 999;

  int fd_;
  std::string token_, mode_;
  std::uint32_t steps_;
  Knobs knobs_;
  process::RunControl* control_ = nullptr;  ///< of mode "knobs", whose commands have a thread
  events::ProbeLevel level_ = events::ProbeLevel::Monitor;
  bool isTextDefined_ = false;
  std::mutex sendMutex_;
  std::vector<test::OwnedMessage> sample_;
  wire::FrameReader reader_;
  std::int64_t now_ = 0;
  std::uint32_t step_ = 0;
  std::uint32_t batch_ = 16;
  bool started_ = false, paused_ = false, stopped_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const char* mode = std::getenv("FAKE_WORKER");
  if (mode != nullptr && std::string(mode) == "usage") {
    std::fprintf(stderr, "--preset is \"huge\"; give small or base\n");
    return 2;
  }
  std::string token;
  std::ifstream(argument(argc, argv, "--token-file")) >> token;
  if (mode != nullptr && std::string(mode) == "badtoken") token = "guessed";
  const std::string socket = argument(argc, argv, "--connect");
  const int fd =
      socket.empty() ? std::atoi(argument(argc, argv, "--fd").c_str()) : connectTo(socket);
  const bool describe = std::any_of(
      argv, argv + argc, [](const char* text) { return std::string(text) == "--describe"; });
  const auto number = [&](const char* name, std::uint32_t otherwise) {
    const std::string text = argument(argc, argv, name);
    return text.empty() ? otherwise : static_cast<std::uint32_t>(std::stoul(text));
  };
  const Knobs knobs{
      .batchSize = number("--batch", 16),
      .sequenceLength = number("--seq", 64),
      .lossEvery = 5,
      .learningRate = 0.001,
      .accumulation = number("--accumulate", 1),
      .precision = Precision::kFloat32,
      .keepEffectiveBatch = std::any_of(
          argv, argv + argc,
          [](const char* text) { return std::string(text) == "--keep-effective-batch"; }),
      .outOfMemory = policyFromName(argument(argc, argv, "--on-out-of-memory"))};
  return FakeWorker(fd, token, describe ? "describe" : (mode ? mode : "sample"),
                    number("--steps", 0), knobs)
      .run();
}
