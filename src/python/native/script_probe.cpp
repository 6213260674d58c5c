#include "python/native/script_probe.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <utility>

#include "core/event_kinds.h"
#include "core/knobs.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/version.h"
#include "probe/observer/loss_reads.h"
#include "probe/readings/mps_device.h"
#include "process/device.h"
#include "process/hello.h"
#include "process/platform.h"
#include "process/work_start.h"
#include "python/native/interpreter.h"
#include "wire/event_checks.h"
#include "wire/limits.h"

namespace highwater::python {
namespace {

constexpr auto kAcceptedWithin = std::chrono::seconds(10);
// A process that builds an optimizer and never trains must not keep what it does without limit.
constexpr std::uint32_t kMostKeptPhases = 4096;
// The text of a sign has at most 1023 bytes on macOS.
constexpr std::size_t kMostReasonBytes = 900;

// A name of the script's own may be empty; an event without a name would be one of ours.
constexpr std::string_view kUnnamed = "(unnamed)";

/// The keys of the other spans kLoaderStartSpan: the workers that have been started load, and those
/// of the last time end.
constexpr std::string_view kFirstBatchOfLoader = "first batch of DataLoader workers";
constexpr std::string_view kEndOfLoader = "end of DataLoader workers";

std::string asName(std::string_view text) {
  return std::string(cutText(text, wire::kMaxNameBytes));
}

/// The phase of a key; None for a name of the user's own.
events::Phase phaseOf(std::string_view key) {
  const auto found = std::find_if(kPhases.begin(), kPhases.end(),
                                  [key](events::Phase each) { return phaseKey(each) == key; });
  return found == kPhases.end() ? events::Phase::None : *found;
}

}  // namespace

Result<std::unique_ptr<ScriptProbe>> ScriptProbe::start(const ScriptOptions& options) {
  // Only `highwater run --device sim` makes "mps" the simulated device.
  const char* without = process::canSimulateMps() ? "cpu" : "auto";
  auto device = process::chooseDevice(options.simulatedDevice.empty() ? without : "sim",
                                      options.simulatedDevice);
  if (!device) return device.error();
  std::unique_ptr<ScriptProbe> probe(new ScriptProbe(options, std::move(*device)));
  probe->observer_.emplace(probe->recorder_, process::kindOf(probe->device_));
  return probe;
}

ScriptProbe::ScriptProbe(const ScriptOptions& options, DeviceReport device)
    : options_(options), device_(std::move(device)), recorder_(RunClock::startingNow()) {
  if (device_.selected == "mps") {
    counters_ = probe::makeMpsCounters();
    peaks_ = probe::makeMpsPeaks();
    risenPeak_.emplace(*peaks_);
  }
  recorder_.nameThread("training");
  recorder_.setTrainingThread(recorder_.lane().id());
  recorder_.setLevel(options_.level);
  control_.setLevel(options_.level);
  recorder_.callSites().askInterpreter(&pythonCallSite);
  recorder_.setMovesBatchesAnywhere(true);
  beginNs_ = notedBeginNs_ = notedEndNs_ = recorder_.now();
}

Result<void> ScriptProbe::connect(const process::SocketConnection& host) {
  recorder_.setTrainingThread(recorder_.lane().id());
  const auto connection = process::openConnection(host, -1);
  if (!connection && connection.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kEnded, "Highwater has ended"};
  }
  if (!connection) return connection.error();
  socket_ = wire::OwnDescriptor(connection->writeFd);
  folder_ = host.socket.parent_path();
  writer_.emplace(connection->writeFd,
                  [this](const std::string& why) { why.empty() ? onHostGone() : breakOff(why); });
  const auto hello = process::helloOf(device_, recorder_.clock(), connection->token,
                                      process::knownWorkStart(device_));
  if (!writer_->send(hello)) {
    return Error{ErrorCode::kEnded, "Highwater has closed the connection"};
  }
  startReading();
  if (!control_.waitForWelcome(kAcceptedWithin)) {
    const bool isGone = control_.isHostGone();
    socket_.shutDown();  // else the host would wait for the training
    return Error{ErrorCode::kEnded, isGone
                                        ? "Highwater has closed the connection"
                                        : "Highwater has not accepted the connection within 10 s"};
  }
  {
    const std::lock_guard lock(knobMutex_);
    outbox_.emplace(*writer_);
    for (const ScriptKnob& each : knobs_) outbox_->post(each);
  }
  sender_.emplace(recorder_, *writer_);
  sender_->start();
  sampler_.emplace(recorder_, counters_.get(), probe::kDefaultSamplingHz,
                   process::makeSystemReader(device_));
  if (options_.hostSampleHz > 0) {
    hostSampler_.emplace(recorder_, options_.hostSampleHz);
    sampler_->alsoCall([this](std::int64_t nowNs) {
      if (!isOver()) hostSampler_->request(nowNs);
      return hostSampler_->periodNs();
    });
  }
  sampler_->start();
  return {};
}

void ScriptProbe::startReading() {
  process::CommandReader::Callbacks callbacks;
  callbacks.answer = [this](const CommandResult& result) { (void)writer_->send(result).ok(); };
  callbacks.hostGone = [this] { onHostGone(); };
  callbacks.protocolViolation = [this](const std::string& what) {
    breakOff("the connection to Highwater failed: " + what);
  };
  reader_ = std::make_unique<process::CommandReader>(socket_.get(), control_, false,
                                                     std::move(callbacks));
  reader_->start();
}

void ScriptProbe::endRecording() {
  probe::OpObserver::silence();
  isOver_.store(true, std::memory_order_release);
}

void ScriptProbe::onHostGone() {
  endRecording();
  if (socket_.isOurs()) {
    socket_.shutDown();  // the other direction too
    return control_.hostGone("the connection has ended; the training goes on without, from step " +
                             std::to_string(recorder_.step() + 1) + " on");
  }
  leaveSign("closed", "step " + std::to_string(recorder_.step()));
  control_.hostGone(
      "the program has closed the connection to Highwater, as code does that closes all "
      "descriptors; from here on nothing is recorded");
}

void ScriptProbe::leaveSign(const char* sign, const std::string& text) const {
  // It is there already, or the folder is gone: then nobody reads it.
  (void)::symlink(text.c_str(), (folder_ / sign).c_str());
}

void ScriptProbe::breakOff(const std::string& why) {
  endRecording();
  // Of libtorch's messages the first line; the rest is a backtrace.
  const std::string line = plainText(cutText(why.substr(0, why.find('\n')), kMostReasonBytes));
  control_.hostGone("from here on nothing is recorded: " + line);
  if (!folder_.empty()) {
    leaveSign("broken", "is not watched any more because of an error in Highwater (" + line + ")");
  }
  socket_.shutDown();
  if (writer_) writer_->breakOff(line);
}

void ScriptProbe::trainHere() {
  auto next = std::make_unique<RecordedPhase>();
  if (recorded_->lane) recorded_->lane->openSpans().pop();
  (void)recorded_.release();  // its destructor would record the phase as one of this thread
  recorded_ = std::move(next);
  phases_.clear();
  recorder_.setPhase(events::Phase::None);
  recorder_.setDeliberate(false);
}

void ScriptProbe::stopObserving() {
  suspendPhase();
  observer_.reset();
}

void ScriptProbe::stop(bool interrupted, const Failure& error, std::chrono::milliseconds limit) {
  stopObserving();
  if (sampler_) sampler_->stop();
  if (hostSampler_) hostSampler_->stop();
  if (!sender_) return;
  if (open_) closeStep(open_->workedUntilNs);
  recordClosedStep();
  writer_->giveUpAt(std::chrono::steady_clock::now() + limit);
  sendDescription();
  outbox_->stop();
  sender_->stop();
  if (error.message.empty()) {
    (void)writer_->send(Goodbye{stepsDone_, interrupted}).ok();
  } else {
    (void)writer_->send(error).ok();
  }
}

void ScriptProbe::forget() noexcept {
  if (hostSampler_) hostSampler_->forget();
  probe::OpObserver::silence();
  socket_.close();
}

void ScriptProbe::forgetKept() {
  keptPhases_ = 0;
  std::vector<probe::EventRecord> marks;
  for (const auto& lane : recorder_.lanes()) {
    lane->drain([&marks](const probe::EventRecord& event) {
      if (event.kind() == events::EventKind::Marker) marks.push_back(event);
    });
    forEachEventType([&lane]<typename Event>(std::type_identity<Event>) {
      (void)lane->takeDrops(EventTraits<Event>::kKind);
    });
  }
  for (const probe::EventRecord& mark : marks) recorder_.lane().push(mark);
}

void ScriptProbe::describe(RunDescription run) {
  // The sizes are those of step 1.
  if (described_ && described_->knobs.batchSize > 0) {
    run.knobs.batchSize = described_->knobs.batchSize;
    run.knobs.sequenceLength = described_->knobs.sequenceLength;
  }
  run_ = std::move(run);
  // Where nothing trains, a step must not come before the message that it is an iteration.
  if (described_ || run_.stepsAre == StepsAre::kIterations) sendDescription();
}

void ScriptProbe::sendDescription() {
  if (!outbox_ || described_ == run_) return;
  described_ = run_;
  RunDescription run = run_;
  run.workload = options_.script;
  run.ownScript = true;
  run.probeLevel = options_.level;
  for (std::string* text : {&run.workload, &run.model, &run.optimizer, &run.dtype}) {
    *text = asName(*text);
  }
  for (CodeSign& each : run.signs) {
    for (std::string* text : {&each.what, &each.line, &each.text}) *text = asName(*text);
  }
  for (std::uint32_t* size : {&run.knobs.batchSize, &run.openBatchSize}) {
    *size = std::min(*size, wire::kMaxBatchSize);
  }
  for (std::uint32_t* size : {&run.knobs.sequenceLength, &run.openSequenceLength}) {
    *size = std::min(*size, wire::kMaxSequenceLength);
  }
  outbox_->post(run);
}

void ScriptProbe::beginStep(std::uint32_t step, bool late) {
  beginNs_ = late ? notedBeginNs_ : recorder_.now();
  const bool isCut = open_ && cutNs_ >= open_->workedUntilNs;
  closeStep(isCut ? cutNs_ : beginNs_);
  recordClosedStep();
  cutNs_ = 0;
  recorder_.setStep(step, late);
  control_.setStep(step);
  recorder_.resetSeenPeaks();
}

void ScriptProbe::endStep(std::uint32_t step, std::uint32_t batchSize, std::uint32_t sequenceLength,
                          std::uint32_t microSteps, bool late) {
  batchSize = std::min(batchSize, wire::kMaxBatchSize);
  const std::uint64_t positions =
      std::uint64_t{batchSize} * std::max(sequenceLength, 1U) * std::max(microSteps, 1U);
  sequenceLength = std::min(sequenceLength, wire::kMaxSequenceLength);
  if (!described_) {
    if (run_.knobs.batchSize == 0) run_.knobs.batchSize = batchSize;
    if (run_.knobs.sequenceLength == 0) run_.knobs.sequenceLength = sequenceLength;
    sendDescription();
  }
  sampleAtBoundary();
  noteBatchSize(step, batchSize);
  stepsDone_ = step;
  open_ = OpenStep{
      beginNs_,       late ? notedEndNs_ : recorder_.now(),
      step,           batchSize,
      sequenceLength, static_cast<std::uint32_t>(std::min<std::uint64_t>(positions, UINT32_MAX))};
  if (auto endStepOfDevice = process::stepEndOf(device_)) endStepOfDevice();
}

void ScriptProbe::sampleAtBoundary() {
  if (!counters_) return;
  probe::recordMemorySample(recorder_, *counters_, events::SampleOrigin::PhaseBoundary,
                            &*risenPeak_);
}

// The last batch of an epoch is often shorter, which is no change of a setting.
void ScriptProbe::noteBatchSize(std::uint32_t step, std::uint32_t batchSize) {
  if (batchSize == 0) return;
  if (batchSize_ == 0) batchSize_ = batchSize;
  if (batchSize != batchSize_ && batchSize == lastBatchSize_) {
    recorder_.mark(events::MarkerKind::BatchSize, step, batchSize_, batchSize);
    batchSize_ = batchSize;
  }
  lastBatchSize_ = batchSize;
}

void ScriptProbe::closeStep(std::int64_t endNs) {
  if (!open_) return;
  recordClosedStep();
  const OpenStep step = *std::exchange(open_, std::nullopt);
  closed_ = events::StepRecord(step.beginNs, probe::Recorder::lengthNs(step.beginNs, endNs),
                               recorder_.seenPeakCurrent(), recorder_.seenPeakDriver(), -1,
                               step.number, step.batchSize, step.sequenceLength, step.positions,
                               std::numeric_limits<float>::quiet_NaN(), 0, 0);
}

void ScriptProbe::recordClosedStep() {
  if (!closed_) return;
  const auto loss = probe::takeReadLoss();
  if (loss) {
    closed_->mutate_loss(*loss);
    closed_->mutate_loss_read(1);
  }
  recorder_.record([this](std::int64_t) { return *closed_; });
  closed_.reset();
}

void ScriptProbe::cutStep(bool mayBeReadLater) {
  const std::int64_t nowNs = recorder_.now();
  if (!open_ && cutNs_ == 0) cutNs_ = nowNs;
  closeStep(nowNs);
  if (!mayBeReadLater || !probe::awaitsLoss()) recordClosedStep();
}

void ScriptProbe::setPaused(bool paused) {
  if (paused) cutStep();
  recorder_.setPaused(paused);
  recorder_.mark(paused ? events::MarkerKind::Paused : events::MarkerKind::Resumed,
                 recorder_.step() + 1);
}

void ScriptProbe::suspendPhase() {
  recorded_->phase.reset();
  recorded_->named.reset();
  recorded_->lane = nullptr;
  if (recorder_.level() != events::ProbeLevel::Off) sampleAtBoundary();
}

void ScriptProbe::resumePhase() {
  if (phases_.empty()) return;
  OpenPhase& innermost = phases_.back();
  const bool continued = std::exchange(innermost.begun, true);
  if (innermost.name == kNoId) {
    recorded_->phase.emplace(recorder_, nullptr, innermost.phase);
  } else {
    recorded_->named.emplace(recorder_, innermost.name, continued);
  }
  recorded_->lane = &recorder_.lane();
}

void ScriptProbe::beginPhase(std::string_view key) {
  if (!sender_ && ++keptPhases_ > kMostKeptPhases) forgetKept();
  const OpenPhase around = phases_.empty() ? OpenPhase() : phases_.back();
  OpenPhase next = around;  // a call of the model in an evaluation is a part of it
  if (key != kEvaluationSpan || !around.evaluates) {
    next = {phaseOf(key), kNoId, around.evaluates || key == kEvaluationSpan, false};
    if (next.phase == events::Phase::None) {
      next.begun = key == kFirstBatchOfLoader || key == kEndOfLoader;
      if (next.begun) key = kLoaderStartSpan;
      // A script's own phases are found by their names.
      const bool isOurs = key == kEvaluationSpan || key == kLoaderStartSpan || key == kOwnWorkSpan;
      const CallSiteId from = isOurs ? pythonCallSite(recorder_.callSites()) : kNoId;
      next.name = recorder_.names().internAt(key.empty() ? kUnnamed : key, from);
    }
  }
  suspendPhase();
  if (next.evaluates && !around.evaluates) {
    cutStep(/*mayBeReadLater=*/true);
    // A step may call the model without gradients, too, as for labels of its own.
    if (observer_ && stepsDone_ == recorder_.step()) observer_->noteEvaluation();
  }
  recorder_.setDeliberate(next.evaluates);
  phases_.push_back(next);
  resumePhase();
}

void ScriptProbe::endPhase() {
  if (phases_.empty()) return;
  suspendPhase();
  if (phases_.back().evaluates && observer_) observer_->noteEvaluationPart();
  phases_.pop_back();
  recorder_.setDeliberate(!phases_.empty() && phases_.back().evaluates);
  resumePhase();
}

std::string ScriptProbe::offer(ScriptKnob knob) {
  const std::lock_guard lock(knobMutex_);
  if (knobs_.size() == wire::kMaxScriptKnobs) {
    return "there are " + std::to_string(wire::kMaxScriptKnobs) + " knobs already";
  }
  if (auto broken = wire::checkScriptKnob(knob); broken.violation != wire::Violation::kNone) {
    return std::move(broken.detail);
  }
  control_.offer(knob);
  if (outbox_) outbox_->post(knob);
  knobs_.push_back(std::move(knob));
  return {};
}

void ScriptProbe::knobTurned(std::size_t knob, double value) {
  const std::lock_guard lock(knobMutex_);
  if (knob >= knobs_.size() || !isValueOf(knobs_[knob], value)) return;
  knobs_[knob].value = value;
  if (outbox_) outbox_->post(knobs_[knob]);
}

void ScriptProbe::mark(std::string_view text) {
  // Only a try has notes that begin so.
  const std::string users = text.starts_with(kTryPrefix) ? '"' + std::string(text) : "";
  recorder_.mark(events::MarkerKind::Note, recorder_.step(), 0, 0, users.empty() ? text : users);
}

void ScriptProbe::noteTry(std::string_view text) {
  recorder_.mark(events::MarkerKind::Note, recorder_.step(), 0, 0, text);
}

}  // namespace highwater::python
