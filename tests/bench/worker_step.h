#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "core/messages.h"
#include "probe/device_span_meter.h"
#include "probe/frame_writer.h"
#include "probe/op_observer.h"
#include "probe/peak_meter.h"
#include "probe/phase_scope.h"
#include "probe/sampler.h"
#include "probe/sender.h"
#include "worker/model.h"

// The worker's training step and its probe, to be started and stopped as a bench needs them.
namespace highwater::bench {

/// All of the probe as the worker has it, from construction to destruction: the sampler at its
/// default rate, the observer, the sender.
class WorkerProbe {
 public:
  /// Writes frames to `fd`, which stays the caller's. Of `device` counters, peaks and events are
  /// read where it has any.
  WorkerProbe(const DeviceReport& device, int fd, events::ProbeLevel level);
  ~WorkerProbe();
  WorkerProbe(const WorkerProbe&) = delete;
  WorkerProbe& operator=(const WorkerProbe&) = delete;

  [[nodiscard]] probe::Recorder& recorder() { return recorder_; }

  void beginStep(std::uint32_t step);
  /// The batch is on the device.
  void batchIsThere(std::uint32_t step);
  void endStep(std::uint32_t step, std::uint32_t batch, std::uint32_t length);
  [[nodiscard]] probe::PhaseScope phase(events::Phase which) {
    return probe::PhaseScope(recorder_, counters_.get(), which, peaks_ ? &*peaks_ : nullptr);
  }

 private:
  std::unique_ptr<probe::CounterSource> counters_;
  std::unique_ptr<probe::PeakSource> peakSource_;
  std::unique_ptr<probe::EventSource> events_;
  probe::Recorder recorder_;
  probe::FrameWriter writer_;
  probe::Sender sender_;
  probe::Sampler sampler_;
  std::optional<probe::PeakMeter> peaks_;
  std::optional<probe::DeviceSpanMeter> spans_;
  std::optional<probe::OpObserver> observer_;
  std::int64_t stepBeginNs_ = 0;
};

/// What a step trains on.
struct BatchShape {
  std::int64_t batch = 0;
  std::int64_t length = 0;
};

/// The classifier's training step on one device: what the worker does, with a batch that lies ready
/// on the host.
class ClassifierStep {
 public:
  ClassifierStep(const worker::ModelSize& size, BatchShape shape, torch::Device device);

  /// Under `probe` where it is given, as step number `step`.
  void run(WorkerProbe* probe, std::uint32_t step);
  /// Reads the loss in each step too, before backward.
  void readLoss(bool read) { readsLoss_ = read; }
  /// Waits for the device.
  void finish() const;

 private:
  BatchShape shape_;
  torch::Device device_;
  bool readsLoss_ = false;
  worker::IssueClassifier model_{nullptr};
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  torch::Tensor ids_, labels_;
};

/// PyTorch's device of a report.
[[nodiscard]] torch::Device torchDevice(const DeviceReport& device);

}  // namespace highwater::bench
