#include "python/native/script_probe.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "core/knobs.h"
#include "core/names.h"
#include "core/version.h"
#include "probe/readings/mps_device.h"
#include "process/device.h"
#include "process/hello.h"
#include "process/platform.h"
#include "python/native/interpreter.h"
#include "wire/event_checks.h"
#include "wire/limits.h"

namespace highwater::python {
namespace {

constexpr auto kAcceptedWithin = std::chrono::seconds(10);
constexpr auto kSentWithin = std::chrono::seconds(1);

/// Shuts a socket down after a time, so that a host that does not read cannot hold up the exit.
class Deadline {
 public:
  Deadline(int socket, std::chrono::milliseconds limit)
      : thread_([this, socket, limit] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, limit, [this] { return done_; })) {
            ::shutdown(socket, SHUT_RDWR);
          }
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

/// The phase of a key; None for a name of the user's own.
events::Phase phaseOf(std::string_view key) {
  const auto found = std::find_if(kPhases.begin(), kPhases.end(),
                                  [key](events::Phase each) { return phaseKey(each) == key; });
  return found == kPhases.end() ? events::Phase::None : *found;
}

/// Whether a phase shows that the training goes on after an evaluation.
bool trains(events::Phase phase) {
  return phase == events::Phase::Forward || phase == events::Phase::Backward ||
         phase == events::Phase::OptimizerStep;
}

}  // namespace

Result<std::unique_ptr<ScriptProbe>> ScriptProbe::start(const ScriptOptions& options) {
  // Only `highwater run --device sim` makes "mps" the simulated device.
  const char* without = process::canSimulateMps() ? "cpu" : "auto";
  auto device = process::chooseDevice(options.simulatedDevice.empty() ? without : "sim",
                                      options.simulatedDevice);
  if (!device) return device.error();
  auto connection =
      process::openConnection(process::SocketConnection{options.socket, options.tokenFile}, -1);
  if (!connection) return connection.error();
  std::unique_ptr<ScriptProbe> probe(
      new ScriptProbe(options, std::move(*connection), std::move(*device)));
  if (!probe->sendHello(probe->connection_.token)) {
    return Error{ErrorCode::kEnded, "Highwater has closed the connection"};
  }
  probe->startReading();
  if (!probe->control_.waitForWelcome(kAcceptedWithin)) {
    return Error{ErrorCode::kEnded, "Highwater has not accepted the connection within 10 s"};
  }
  probe->sender_->start();
  probe->sampler_->start();
  probe->observer_.emplace(probe->recorder_, process::kindOf(probe->device_));
  return probe;
}

ScriptProbe::ScriptProbe(const ScriptOptions& options, process::Connection connection,
                         DeviceReport device)
    : options_(options),
      connection_(std::move(connection)),
      device_(std::move(device)),
      recorder_(RunClock::startingNow()),
      writer_(connection_.writeFd, [this] { control_.hostGone(); }) {
  if (device_.selected == "mps") counters_ = probe::makeMpsCounters();
  recorder_.nameThread("training");
  recorder_.setLevel(options_.level);
  recorder_.callSites().askInterpreter(&pythonCallSite);
  recorder_.setMovesBatchesAnywhere(true);
  sender_.emplace(recorder_, writer_);
  sampler_.emplace(recorder_, counters_.get(), probe::kDefaultSamplingHz,
                   process::makeSystemReader(device_));
  beginNs_ = notedBeginNs_ = notedEndNs_ = recorder_.now();
}

bool ScriptProbe::sendHello(const std::string& token) {
  return writer_.send(process::helloOf(device_, recorder_.clock(), token)).ok();
}

void ScriptProbe::startReading() {
  process::CommandReader::Callbacks callbacks;
  callbacks.answer = [this](const CommandResult& result) { (void)writer_.send(result).ok(); };
  callbacks.hostGone = [this] { control_.hostGone(); };
  callbacks.protocolViolation = [this](const std::string&) {
    ::shutdown(connection_.readFd, SHUT_RDWR);
    control_.hostGone();
  };
  reader_ = std::make_unique<process::CommandReader>(connection_.readFd, control_, false,
                                                     std::move(callbacks));
  reader_->start();
}

void ScriptProbe::stop(bool interrupted, std::string_view error) {
  suspendPhase();
  observer_.reset();
  sampler_->stop();
  sendDescription();
  const Deadline deadline(connection_.writeFd, kSentWithin);
  sender_->stop();
  if (error.empty()) {
    (void)writer_.send(Goodbye{stepsDone_, interrupted}).ok();
  } else {
    (void)writer_.send(Failure{Failure::Kind::kFailed, std::string(error)}).ok();
  }
}

void ScriptProbe::forget() noexcept {
  probe::OpObserver::silence();
  ::close(connection_.writeFd);
}

void ScriptProbe::describe(Model model) {
  model_ = std::move(model);
}

void ScriptProbe::sendDescription() {
  if (std::exchange(described_, true)) return;
  RunDescription run;
  run.workload = options_.script;
  run.ownScript = true;
  run.model = model_.name;
  run.optimizer = model_.optimizer;
  run.dtype = model_.dtype;
  run.parameters = model_.parameters;
  run.knobs = {std::min(model_.batchSize, wire::kMaxBatchSize),
               std::min(model_.sequenceLength, wire::kMaxSequenceLength), 0};
  run.probeLevel = options_.level;
  (void)writer_.send(run).ok();
}

void ScriptProbe::beginStep(std::uint32_t step, bool late) {
  recorder_.setStep(step);
  control_.setStep(step);
  beginNs_ = late ? notedBeginNs_ : recorder_.now();
  recorder_.resetSeenPeaks();
}

void ScriptProbe::endStep(std::uint32_t step, std::uint32_t batchSize, std::uint32_t sequenceLength,
                          std::uint32_t microSteps, bool late) {
  batchSize = std::min(batchSize, wire::kMaxBatchSize);
  const std::uint64_t positions =
      std::uint64_t{batchSize} * std::max(sequenceLength, 1U) * std::max(microSteps, 1U);
  sequenceLength = std::min(sequenceLength, wire::kMaxSequenceLength);
  if (!described_) {
    if (model_.batchSize == 0) model_.batchSize = batchSize;
    if (model_.sequenceLength == 0) model_.sequenceLength = sequenceLength;
    sendDescription();
  }
  if (counters_) {
    probe::recordMemorySample(recorder_, *counters_, events::SampleOrigin::PhaseBoundary);
  }
  if (batchSize_ != 0 && batchSize != 0 && batchSize != batchSize_) {
    recorder_.mark(events::MarkerKind::BatchSize, step, batchSize_, batchSize);
  }
  batchSize_ = batchSize;
  stepsDone_ = step;
  recorder_.record([&](std::int64_t nowNs) {
    const std::int64_t endNs = late ? notedEndNs_ : nowNs;
    return events::StepRecord(
        beginNs_, probe::Recorder::lengthNs(beginNs_, endNs), recorder_.seenPeakCurrent(),
        recorder_.seenPeakDriver(), -1, step, batchSize, sequenceLength,
        static_cast<std::uint32_t>(std::min<std::uint64_t>(positions, UINT32_MAX)),
        std::numeric_limits<float>::quiet_NaN(), 0, 0);
  });
  if (auto endStepOfDevice = process::stepEndOf(device_)) endStepOfDevice();
}

void ScriptProbe::suspendPhase() {
  phase_.reset();
  named_.reset();
}

void ScriptProbe::resumePhase() {
  if (phases_.empty()) return;
  OpenPhase& innermost = phases_.back();
  const bool continued = std::exchange(innermost.begun, true);
  if (innermost.name == kNoId) {
    phase_.emplace(recorder_, counters_.get(), innermost.phase);
  } else {
    named_.emplace(recorder_, innermost.name, continued);
  }
}

void ScriptProbe::beginPhase(std::string_view key) {
  const OpenPhase around = phases_.empty() ? OpenPhase() : phases_.back();
  if (key == kEvaluationSpan && around.evaluates) {
    phases_.push_back(around);  // a call of the model in a phase that the script calls so
    return;
  }
  OpenPhase next;
  next.phase = phaseOf(key);
  if (next.phase == events::Phase::None) next.name = recorder_.names().internBulk(key);
  next.evaluates = around.evaluates || key == kEvaluationSpan;
  if (next.evaluates || trains(next.phase)) recorder_.setDeliberate(next.evaluates);
  suspendPhase();
  phases_.push_back(next);
  resumePhase();
}

void ScriptProbe::endPhase() {
  if (phases_.empty()) return;
  suspendPhase();
  phases_.pop_back();
  resumePhase();
}

std::string ScriptProbe::offer(ScriptKnob knob) {
  if (knobs_.size() == wire::kMaxScriptKnobs) {
    return "there are " + std::to_string(wire::kMaxScriptKnobs) + " knobs already";
  }
  if (auto broken = wire::checkScriptKnob(knob); broken.violation != wire::Violation::kNone) {
    return std::move(broken.detail);
  }
  control_.offer(knob);
  (void)writer_.send(knob).ok();
  knobs_.push_back(std::move(knob));
  return {};
}

void ScriptProbe::knobTurned(std::size_t knob, double value) {
  if (knob >= knobs_.size() || !isValueOf(knobs_[knob], value)) return;
  knobs_[knob].value = value;
  (void)writer_.send(knobs_[knob]).ok();
}

void ScriptProbe::mark(std::string_view text) {
  recorder_.mark(events::MarkerKind::Note, recorder_.step(), 0, 0, text);
}

}  // namespace highwater::python
