#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/messages.h"
#include "worker/knobs.h"

namespace highwater::worker {

/// What the training loop does next, at the boundary between two steps.
struct NextAction {
  enum class Kind {
    kStep,        ///< train `step` with `knobs`; `changes` became effective with it
    kPaused,      ///< the run pauses now, before `step`
    kResumed,     ///< and goes on now
    kEmptyCache,  ///< give cached memory back
    kStop,        ///< no more steps
  };
  Kind kind = Kind::kStop;
  std::uint32_t step = 0;
  Knobs knobs;
  std::vector<KnobChange> changes;
  events::ProbeLevel probeLevel = events::ProbeLevel::Monitor;  ///< of the step
};

/// What the host asked for and where the training loop is. The command thread and the training
/// thread meet here.
class RunControl {
 public:
  RunControl(Knobs knobs, KnobLimits limits, std::uint32_t plannedSteps,
             events::ProbeLevel probeLevel = events::ProbeLevel::Monitor);

  /// Command thread: the host said Welcome; obeys a command and says what became of it.
  void welcome();
  [[nodiscard]] CommandResult obey(const Command& command);
  /// Any thread: nobody is left to train for.
  void hostGone();
  [[nodiscard]] bool isHostGone() const;

  /// Training thread. False where the host went instead.
  [[nodiscard]] bool waitForWelcome();
  /// False where the run is to stop before it starts.
  [[nodiscard]] bool waitForStart();
  /// Waits while the run is paused.
  [[nodiscard]] NextAction next();
  [[nodiscard]] bool stopRequested() const;

  /// A change from the command line. Before the start only.
  [[nodiscard]] Result<void> schedule(const SetKnobs& change);
  [[nodiscard]] Knobs knobs() const;

 private:
  [[nodiscard]] Result<std::uint32_t> scheduleLocked(SetKnobs change);
  void setProbeLevel(const SetProbeLevel& change);
  [[nodiscard]] events::ProbeLevel levelOfNextStep();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Knobs knobs_;
  KnobLimits limits_;
  std::uint32_t plannedSteps_;
  KnobSchedule schedule_;
  std::uint32_t currentStep_ = 0;  // the last one that began
  bool welcomed_ = false;
  bool started_ = false;
  bool stopRequested_ = false;
  bool hostGone_ = false;
  bool pauseRequested_ = false;
  bool paused_ = false;
  bool emptyCacheRequested_ = false;
  events::ProbeLevel level_;
  events::ProbeLevel briefLevel_ = events::ProbeLevel::None;
  std::uint32_t briefSteps_ = 0;  // that briefLevel_ still holds for
};

}  // namespace highwater::worker
