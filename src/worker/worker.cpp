#include "worker/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "probe/observer/op_observer.h"
#include "probe/readings/cuda_device.h"
#include "probe/readings/mps_device.h"
#include "probe/readings/sampler.h"
#include "process/device.h"
#include "process/hello.h"
#include "process/platform.h"
#include "process/work_start.h"
#include "worker/training/autocast_scope.h"
#include "worker/training/training.h"

namespace highwater::worker {
namespace {

// A worker must end within 2 s of its host, and a step or an evaluation may take longer than that.
constexpr auto kGraceAfterHost = std::chrono::milliseconds(1500);

/// Fills in the memory fraction that applies without an option: the environment's, or PyTorch's
/// own.
Sizes withMemoryFraction(Sizes sizes, const DeviceReport& device) {
  if (sizes.knobs.memoryFraction == 0) {
    sizes.knobs.memoryFraction = process::readMemoryLimits(device).highWatermarkRatio;
  }
  return sizes;
}

KnobLimits limitsOf(const Sizes& sizes, const DeviceReport& device) {
  KnobLimits limits;
  limits.sequenceLength = sizes.model.maxSequenceLength;
  limits.noBFloat16 = whyNoPrecision(device, Precision::kBFloat16);
  limits.noFloat16 = whyNoPrecision(device, Precision::kFloat16);
  if (device.selected != "mps") {
    limits.noMemoryFraction = "only MPS has one, and the device is " + device.selected;
  }
  return limits;
}

Failure::Kind failureKindOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUsage:
      return Failure::Kind::kUsage;
    case ErrorCode::kOutOfMemory:
      return Failure::Kind::kOutOfMemory;
    default:
      return Failure::Kind::kFailed;
  }
}

void endAfterGrace() {
  std::thread([] {
    std::this_thread::sleep_for(kGraceAfterHost);
    ::_exit(kExitEndedEarly);
  }).detach();
}

}  // namespace

Result<DataSet> loadData(const Options& options) {
  if (!options.dataFile.empty()) {
    return loadDataSet(options.dataFile, options.heldOut, *options.seed);
  }
  const auto files = findSampleData(process::programFolder());
  if (!files) return files.error();
  return loadDataSet(files->train, files->heldOut, *options.seed);
}

Worker::Worker(Options options, Sizes sizes, DeviceReport device, process::Connection connection,
               RunClock clock)
    : options_(std::move(options)),
      sizes_(withMemoryFraction(std::move(sizes), device)),
      device_(std::move(device)),
      connection_(std::move(connection)),
      limits_(limitsOf(sizes_, device_)),
      control_(sizes_.knobs, limits_, options_.steps, *options_.probeLevel),
      recorder_(clock),
      writer_(connection_.writeFd, [this](const std::string&) { onHostGone(); }) {
  if (device_.selected == "mps") {
    counters_ = probe::makeMpsCounters();
    events_ = probe::makeMpsEvents();
  } else if (device_.selected == "cuda") {
    counters_ = probe::makeCudaCounters();
    events_ = probe::makeCudaEvents();
  }
  // Stack frames inside the simulated device are hidden, as Metal's would be.
  recorder_.callSites().ignoreLibrary("libhighwater_simmps");
}

Result<void> Worker::checkSettings() const {
  for (const int fd : options_.checkpoint.value_or(std::array{-1, -1})) {
    if (fd < 0) continue;
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
      return usageError("--checkpoint: " + std::to_string(fd) + " is not open");
    }
  }
  const Knob& precision = *knobOf(events::MarkerKind::Precision);
  if (auto fine = checkKnobValue(precision, precision.value(sizes_.knobs), limits_); !fine) {
    return usageError("--precision: " + fine.error().message);
  }
  if (options_.memoryFraction == 0) return {};
  const Knob& fraction = *knobOf(events::MarkerKind::MemoryFraction);
  if (auto fine = checkKnobValue(fraction, options_.memoryFraction, limits_); !fine) {
    return usageError("--memory-fraction: " + fine.error().message);
  }
  return {};
}

Result<void> Worker::scheduleChanges() {
  for (const SetKnobs& change : options_.changes) {
    if (auto fine = control_.schedule(change); !fine) {
      return usageError("--set " + std::to_string(change.atStep) + ": " + fine.error().message);
    }
  }
  return {};
}

ExitCode Worker::run() {
  if (!sendHello()) return kExitEndedEarly;
  if (options_.describe) return kExitDone;
  startReading();
  if (!options_.autostart && !control_.waitForWelcome()) {
    const std::lock_guard lock(violationMutex_);
    return violation_.empty() ? kExitEndedEarly : fail(Failure::Kind::kFailed, violation_);
  }
  return train();
}

bool Worker::sendHello() {
  // Only asked what it is, it need not use the device.
  const WorkStart workStart =
      options_.describe ? process::knownWorkStart(device_) : process::findWorkStart(device_);
  return writer_.send(process::helloOf(device_, recorder_.clock(), connection_.token, workStart))
      .ok();
}

void Worker::startReading() {
  process::CommandReader::Callbacks callbacks;
  callbacks.answer = [this](const CommandResult& result) {
    if (!writer_.send(result)) onHostGone();
  };
  callbacks.hostGone = [this] {
    // With --autostart stdin may be /dev/null.
    if (!options_.autostart) onHostGone();
  };
  callbacks.protocolViolation = [this](const std::string& what) { onProtocolViolation(what); };
  reader_ = std::make_unique<process::CommandReader>(connection_.readFd, control_,
                                                     options_.autostart, std::move(callbacks));
  reader_->start();
}

void Worker::onHostGone() {
  control_.hostGone();
  endAfterGrace();
}

void Worker::onProtocolViolation(const std::string& what) {
  {
    const std::lock_guard lock(violationMutex_);
    violation_ = what;
  }
  // Without a common protocol there is no host to train for.
  onHostGone();
}

ExitCode Worker::train() {
  auto data = loadData(options_);
  if (!data) return fail(failureKindOf(data.error()), data.error().message);
  recorder_.nameThread("training");
  // The sender starts first and stops last, so that it sends the last events of the others.
  probe::Sender sender(recorder_, writer_);
  sender.start();
  std::optional<probe::Sampler> sampler;
  sampler.emplace(recorder_, counters_.get(), options_.samplingHz,
                  process::makeSystemReader(device_));
  sampler->start();

  auto training =
      Training::make({&options_, sizes_, device_, std::move(*data)},
                     {&recorder_, counters_.get(), events_.get(), process::stepEndOf(device_)});
  if (!training) {
    const bool memory = training.error().code == ErrorCode::kOutOfMemory;
    if (memory) {
      recorder_.mark(events::MarkerKind::OutOfMemory, 0, 0, 0, training.error().message);
    }
    sampler.reset();
    sender.stop();
    return fail(memory ? Failure::Kind::kOutOfMemory : Failure::Kind::kFailed,
                training.error().message);
  }
  if (options_.continues) {
    auto step = (*training)->restore();
    const auto continued = step ? control_.continueFrom(*step) : Result<void>(step.error());
    if (!continued) {
      sampler.reset();
      sender.stop();
      return fail(failureKindOf(continued.error()), continued.error().message);
    }
  }
  if (!writer_.send((*training)->description())) return kExitEndedEarly;
  Training::Outcome outcome;
  outcome.stoppedOnRequest = true;
  if (options_.autostart || control_.waitForStart()) {
    const probe::OpObserver observer(recorder_, process::kindOf(device_));
    outcome = (*training)->run(control_);
  }
  sampler.reset();
  sender.stop();
  if (outcome.failure) return fail(outcome.failure->kind, outcome.failure->message);
  return end(outcome.stepsDone, outcome.stoppedOnRequest);
}

ExitCode Worker::fail(Failure::Kind kind, const std::string& message) {
  std::fprintf(stderr, "highwater-worker: %s\n", message.c_str());
  // The exit code is the same whether or not the host still listens.
  (void)writer_.send(Failure{kind, message}).ok();
  switch (kind) {
    case Failure::Kind::kUsage:
      return kExitUsage;
    case Failure::Kind::kOutOfMemory:
      return kExitEndedEarly;
    default:
      return kExitFailed;
  }
}

ExitCode Worker::end(std::uint32_t stepsDone, bool stoppedOnRequest) {
  if (control_.isHostGone()) {
    const std::lock_guard lock(violationMutex_);
    if (!violation_.empty()) return fail(Failure::Kind::kFailed, violation_);
    return kExitEndedEarly;
  }
  return writer_.send(Goodbye{stepsDone, stoppedOnRequest}) ? kExitDone : kExitEndedEarly;
}

}  // namespace highwater::worker
