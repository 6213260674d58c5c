#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/knobs.h"
#include "core/messages.h"
#include "process/command_reader.h"
#include "process/knob_schedule.h"

namespace highwater::process {

/// What the training loop has to do next, decided between two steps.
struct NextAction {
  /// What the training loop has to do.
  enum class Kind {
    kStep,        ///< train `step` with `knobs`; `changes` take effect with it
    kPaused,      ///< the run has paused before `step`: record that, then ask again
    kResumed,     ///< the run has resumed: record that, then ask again
    kEmptyCache,  ///< release the device's cached memory
    kTry,         ///< begin a block of a try, or end it: see TryBlock
    kStop,        ///< end the training
  };
  Kind kind = Kind::kStop;
  std::uint32_t step = 0;
  Knobs knobs;
  std::vector<KnobChange> changes;
  events::ProbeLevel probeLevel = events::ProbeLevel::Monitor;  ///< during `step`
  TryBlock::Part part = TryBlock::Part::kOver;                  ///< of kTry
};

/// Carries the host's commands from the thread that reads them to the training thread.
class RunControl final : public CommandTarget {
 public:
  /// Makes the control of a run that starts with `knobs`. Changes must stay within `limits`.
  /// `plannedSteps` 0: train until stopped.
  RunControl(Knobs knobs, KnobLimits limits, std::uint32_t plannedSteps,
             events::ProbeLevel probeLevel = events::ProbeLevel::Monitor);

  /// Notes that the host has sent Welcome. Command thread only.
  void welcome() override;
  /// Carries out a command, or says in the result why not. Command thread only.
  [[nodiscard]] CommandResult obey(const Command& command) override;
  /// Notes that the host has closed the connection, and stops the run. Any thread.
  void hostGone();
  /// Returns true once hostGone() was called. Any thread.
  [[nodiscard]] bool isHostGone() const;

  /// Blocks until the host has sent Welcome. Returns false where the host is gone. Training thread
  /// only.
  [[nodiscard]] bool waitForWelcome();
  /// Blocks until the host starts the run. Returns false where it is stopped before. Training
  /// thread only.
  [[nodiscard]] bool waitForStart();
  /// Returns what the training loop has to do next. Blocks while the run is paused. Training thread
  /// only.
  [[nodiscard]] NextAction next();
  /// Makes the step after `step` the first one: the run continues another one. Call it before the
  /// first next(). Error: kUsage where no step is left of the planned ones. Training thread only.
  [[nodiscard]] Result<void> continueFrom(std::uint32_t step);
  /// Takes back the step that has begun last: next() returns it again, after `change` (`atStep` is
  /// ignored), which may set nothing. Call it before the next next(). Training thread only.
  void repeatStep(SetKnobs change);
  /// Returns true once the host has stopped the run or is gone. Any thread.
  [[nodiscard]] bool stopRequested() const;

  /// Schedules a change of the command line; call it only before the start. Returns kUsage where
  /// checkKnobs() refuses the change, or where its step is past the last one.
  [[nodiscard]] Result<void> schedule(const SetKnobs& change);
  /// Returns the knobs (training settings such as the batch size) of the latest step that has
  /// begun; before the first step, those of the constructor. Any thread.
  [[nodiscard]] Knobs knobs() const;

 private:
  [[nodiscard]] Result<std::uint32_t> scheduleLocked(SetKnobs change);
  [[nodiscard]] Result<std::uint32_t> beginBlock(const TryBlock& block);
  void setProbeLevel(const SetProbeLevel& change);
  [[nodiscard]] events::ProbeLevel levelOfNextStep();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Knobs knobs_;
  KnobLimits limits_;
  std::uint32_t plannedSteps_;
  KnobSchedule schedule_;
  std::uint32_t currentStep_ = 0;  // the last one that has begun
  bool welcomed_ = false;
  bool started_ = false;
  bool stopRequested_ = false;
  bool hostGone_ = false;
  bool pauseRequested_ = false;
  bool paused_ = false;
  bool emptyCacheRequested_ = false;
  std::optional<TryBlock::Part> nextBlock_;
  events::ProbeLevel level_;
  events::ProbeLevel briefLevel_ = events::ProbeLevel::None;
  std::uint32_t briefSteps_ = 0;  // steps left with briefLevel_; then level_ applies again
  bool wasBrief_ = false;         // of the step that has begun last
};

}  // namespace highwater::process
