#include "bench/worker_step.h"

#include <limits>

#include "core/clock.h"
#include "probe/readings/mps_device.h"
#include "process/device.h"

namespace highwater::bench {
namespace {

constexpr std::int64_t kVocabulary = 2000;
constexpr std::int64_t kLabels = 5;

bool isMps(const DeviceReport& device) {
  return device.selected == "mps";
}

}  // namespace

WorkerProbe::WorkerProbe(const DeviceReport& device, int fd, events::ProbeLevel level)
    : counters_(isMps(device) ? probe::makeMpsCounters() : nullptr),
      peakSource_(counters_ ? probe::makeMpsPeaks() : nullptr),
      events_(isMps(device) ? probe::makeMpsEvents() : nullptr),
      recorder_(RunClock::startingNow()),
      writer_(fd),
      sender_(recorder_, writer_),
      sampler_(recorder_, counters_.get(), probe::kDefaultSamplingHz,
               process::makeSystemReader(device)) {
  if (peakSource_) peaks_.emplace(recorder_, *peakSource_);
  if (events_) spans_.emplace(recorder_, *events_);
  recorder_.nameThread("training");
  recorder_.setLevel(level);
  sender_.start();
  sampler_.start();
  observer_.emplace(recorder_, process::kindOf(device));
}

WorkerProbe::~WorkerProbe() {
  observer_.reset();
  sampler_.stop();
  sender_.stop();
}

void WorkerProbe::beginStep(std::uint32_t step) {
  recorder_.setStep(step);
  recorder_.resetSeenPeaks();
  if (peaks_) peaks_->beginStep();
  stepBeginNs_ = recorder_.now();
}

void WorkerProbe::batchIsThere(std::uint32_t step) {
  if (!spans_) return;
  spans_->readWhereIdle();
  spans_->beginStep(step);
}

void WorkerProbe::endStep(std::uint32_t step, std::uint32_t batch, std::uint32_t length) {
  if (spans_) spans_->endStep();
  const auto exact = peaks_ ? peaks_->endStep() : std::nullopt;
  recorder_.record([&](std::int64_t nowNs) {
    return events::StepRecord(
        stepBeginNs_, nowNs - stepBeginNs_, exact.value_or(recorder_.seenPeakCurrent()),
        recorder_.seenPeakDriver(), -1, step, batch, length, batch * length,
        std::numeric_limits<float>::quiet_NaN(), 0, static_cast<std::uint8_t>(exact.has_value()));
  });
}

ClassifierStep::ClassifierStep(const worker::ModelSize& size, BatchShape shape,
                               torch::Device device)
    : shape_(shape), device_(device) {
  torch::manual_seed(1);
  model_ = worker::IssueClassifier(size, kVocabulary, kLabels);
  model_->to(device_);
  optimizer_ =
      std::make_unique<torch::optim::AdamW>(model_->parameters(), torch::optim::AdamWOptions(1e-3));
  torch::manual_seed(2);
  ids_ = torch::randint(2, kVocabulary, {shape.batch, shape.length}, torch::kInt64);
  labels_ = torch::randint(0, kLabels, {shape.batch}, torch::kInt64);
}

void ClassifierStep::run(WorkerProbe* probe, std::uint32_t step) {
  const auto inPhase = [&](events::Phase which, auto&& work) {
    if (!probe) return work();
    const auto scope = probe->phase(which);
    work();
  };
  if (probe) probe->beginStep(step);
  torch::Tensor ids, labels, loss;
  inPhase(events::Phase::DeviceMove, [&] {
    ids = ids_.to(device_);
    labels = labels_.to(device_);
  });
  if (probe) probe->batchIsThere(step);
  inPhase(events::Phase::Forward,
          [&] { loss = torch::nn::functional::cross_entropy(model_(ids), labels); });
  inPhase(events::Phase::Backward, [&] {
    optimizer_->zero_grad();
    loss.backward();
  });
  inPhase(events::Phase::OptimizerStep, [&] { optimizer_->step(); });
  if (probe) {
    probe->endStep(step, static_cast<std::uint32_t>(shape_.batch),
                   static_cast<std::uint32_t>(shape_.length));
  }
}

void ClassifierStep::finish() const {
  if (device_.is_mps()) torch::mps::synchronize();
}

torch::Device torchDevice(const DeviceReport& device) {
  return torch::Device(device.selected == "cpu" ? "cpu" : device.selected + ":0");
}

}  // namespace highwater::bench
