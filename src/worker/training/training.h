#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "probe/readings/device_counters.h"
#include "probe/stream/event_source.h"
#include "probe/stream/recorder.h"
#include "process/run_control.h"
#include "worker/data/data_set.h"
#include "worker/options.h"

namespace highwater::worker {

/// The inputs of a training run: options, sizes, device and data. `options` must outlive the run.
struct TrainingSetup {
  const Options* options = nullptr;
  Sizes sizes;
  DeviceReport device;
  DataSet data;
};

/// A training run of the workload, which trains as RunControl directs. This interface has no torch
/// types.
class Training {
 public:
  /// The measuring instruments. `counters` and `events` are nullptr on a device that has none;
  /// `onStepEnd` may be empty and is called after each step.
  struct Instruments {
    probe::Recorder* recorder = nullptr;
    probe::CounterSource* counters = nullptr;
    probe::EventSource* events = nullptr;
    std::function<void()> onStepEnd;
  };

  /// Builds the model on the device. The instruments must outlive the training. Returns
  /// kOutOfMemory where memory is used up, else kFailed with libtorch's message.
  static Result<std::unique_ptr<Training>> make(TrainingSetup setup, Instruments instruments);
  virtual ~Training() = default;

  /// Continues the training of the newest checkpoint: restores the model, the optimizer, PyTorch's
  /// generators and the place in the data. Returns its step. Call it before run(). Errors: those of
  /// CheckpointSlots::Reader::open(); kMalformed where the checkpoint is of another model;
  /// kOutOfMemory where memory is used up.
  [[nodiscard]] virtual Result<std::uint32_t> restore() = 0;

  /// Describes the run for the host.
  [[nodiscard]] virtual RunDescription description() const = 0;

  /// How the training ended. `failure` is set where a batch was on the wrong device, memory was
  /// used up, or libtorch threw any other exception.
  struct Outcome {
    std::uint32_t stepsDone = 0;
    bool stoppedOnRequest = false;
    std::optional<Failure> failure;
  };
  /// Trains until the planned steps are done or `control` stops the run, then evaluates unless the
  /// host is gone. Does not throw: a failure is in the outcome.
  [[nodiscard]] virtual Outcome run(process::RunControl& control) = 0;
};

}  // namespace highwater::worker
