#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "probe/device_counters.h"
#include "probe/event_source.h"
#include "probe/recorder.h"
#include "worker/data_set.h"
#include "worker/options.h"
#include "worker/run_control.h"

namespace highwater::worker {

/// All that a run is made of, before it starts.
struct TrainingSetup {
  const Options* options = nullptr;
  Sizes sizes;
  DeviceReport device;
  DataSet data;
};

/// Trains the workload, one boundary of RunControl after the other. No torch type shows here.
class Training {
 public:
  /// What is measured and how. `counters` and `events` are nullptr on a device without any;
  /// `onStepEnd`, which may be empty, is called after each step.
  struct Instruments {
    probe::Recorder* recorder = nullptr;
    probe::CounterSource* counters = nullptr;
    probe::EventSource* events = nullptr;
    std::function<void()> onStepEnd;
  };

  /// Builds vocabulary and model. Everything given must outlive the training.
  static Result<std::unique_ptr<Training>> make(TrainingSetup setup, Instruments instruments);
  virtual ~Training() = default;

  [[nodiscard]] virtual RunDescription description() const = 0;

  /// Trains until the planned steps are done or the control says stop, then evaluates. What ends it
  /// early is a Failure: the device contract, the device's memory, or anything libtorch throws.
  struct Outcome {
    std::uint32_t stepsDone = 0;
    bool stoppedOnRequest = false;
    std::optional<Failure> failure;
  };
  [[nodiscard]] virtual Outcome run(RunControl& control) = 0;
};

}  // namespace highwater::worker
