#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "core/messages.h"
#include "probe/observer/op_observer.h"
#include "probe/readings/device_span_meter.h"
#include "probe/readings/peak_meter.h"
#include "probe/readings/phase_scope.h"
#include "probe/readings/sampler.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/sender.h"
#include "worker/training/model.h"

// The worker's training step and its probe, which a bench starts and stops separately.
namespace highwater::bench {

/// The whole probe as in the worker, running from construction to destruction: the sampler at its
/// default rate, the observer, the sender.
class WorkerProbe {
 public:
  /// Writes frames to `fd`, which the caller keeps. Reads counters, peaks and events of `device` if
  /// it has them.
  WorkerProbe(const DeviceReport& device, int fd, events::ProbeLevel level);
  ~WorkerProbe();
  WorkerProbe(const WorkerProbe&) = delete;
  WorkerProbe& operator=(const WorkerProbe&) = delete;

  void beginStep(std::uint32_t step);
  /// Call when the batch is on the device.
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

/// The workload of a step.
struct BatchShape {
  std::int64_t batch = 0;
  std::int64_t length = 0;
};

/// The classifier's training step on one device, as in the worker but with a batch that is ready on
/// the host.
class ClassifierStep {
 public:
  ClassifierStep(const worker::ModelSize& size, BatchShape shape, torch::Device device);

  /// Runs step number `step`, observed by `probe` unless that is null.
  void run(WorkerProbe* probe, std::uint32_t step);
  /// Waits for the device.
  void finish() const;

 private:
  BatchShape shape_;
  torch::Device device_;
  worker::IssueClassifier model_{nullptr};
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  torch::Tensor ids_, labels_;
};

/// The torch::Device for a device report.
[[nodiscard]] torch::Device torchDevice(const DeviceReport& device);

}  // namespace highwater::bench
