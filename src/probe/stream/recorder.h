#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/events_generated.h"
#include "probe/call_sites/call_sites.h"
#include "probe/observer/autograd_place.h"
#include "probe/observer/module_table.h"
#include "probe/observer/name_table.h"
#include "probe/observer/sequence_modules.h"
#include "probe/stream/thread_lane.h"
#include "probe/stream/tick_clock.h"

namespace highwater::probe {

/// Turns the watching of the calling thread's ops on or off. Turning it on returns true where the
/// caller need not turn it off again: it was on, or it cannot be turned on.
using ThreadWatch = bool (*)(bool on) noexcept;

/// A border of a step, as the observer is told of it.
enum class StepBorder : std::uint8_t {
  kBegins,        ///< the step begins now
  kBeganEarlier,  ///< it began at the last kMayEnd
  kMayEnd         ///< the step ends here, if the next one turns out to have begun
};

/// The shared state of the probe: an event queue (lane) for each thread, the definitions of names,
/// modules and call sites, the clock, and the current step and phase. Must outlive the sender, the
/// sampler and the observer. Any thread may call a method unless its comment says otherwise.
class Recorder {
 public:
  /// Makes a recorder whose times count from the epoch of `clock`.
  explicit Recorder(RunClock clock);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The clock of the run, whose epoch is time 0 of all events.
  [[nodiscard]] const RunClock& clock() const { return clock_; }
  /// The current time in nanoseconds since the run's epoch.
  [[nodiscard]] std::int64_t now() const { return ticks_.now() - clock_.monotonicEpochNs; }
  /// Returns the duration between two values of now() of one thread, in nanoseconds. Never
  /// negative: a correction of the clock in between may make the later value some nanoseconds
  /// smaller.
  [[nodiscard]] static std::int64_t lengthNs(std::int64_t beginNs, std::int64_t endNs) {
    return endNs > beginNs ? endNs - beginNs : 0;
  }
  /// Aligns now() with the system's clock. The sender calls it some 50 times a second.
  void lookAtClock();
  /// The names and threads of the run.
  [[nodiscard]] NameTable& names() { return names_; }
  /// The modules of the model.
  [[nodiscard]] ModuleTable& modules() { return modules_; }
  /// The places in the user's program that made the host wait.
  [[nodiscard]] CallSites& callSites() { return callSites_; }
  /// Maps autograd's sequence numbers to modules.
  [[nodiscard]] SequenceModules& sequenceModules() { return sequenceModules_; }
  /// Access to autograd; before setAutograd(), nothing is known.
  [[nodiscard]] const Autograd& autograd() const { return autograd_; }
  /// Gives access to autograd. Call it before ops run.
  void setAutograd(const Autograd& autograd) { autograd_ = autograd; }
  /// Returns the module that the calling thread runs: in a backward node, the module whose forward
  /// created it, unless a module was entered in the node, as checkpoints do.
  [[nodiscard]] ModuleId currentModule();
  /// The same, given what the thread's AutogradPlace says of the node that it runs.
  [[nodiscard]] ModuleId currentModule(const void* node);

  /// The function that WatchedThread calls; nullptr while no ops are watched.
  [[nodiscard]] ThreadWatch threadWatch() const {
    return threadWatch_.load(std::memory_order_acquire);
  }
  /// Sets the function that WatchedThread calls; nullptr for none.
  void setThreadWatch(ThreadWatch watch) { threadWatch_.store(watch, std::memory_order_release); }

  /// The recorder of the installed OpObserver; nullptr if there is none.
  [[nodiscard]] static Recorder* active() { return active_.load(std::memory_order_acquire); }
  /// Sets the recorder that active() returns. Only OpObserver calls it, with nullptr when it stops.
  static void setActive(Recorder* recorder) { active_.store(recorder, std::memory_order_release); }

  /// Returns the calling thread's lane, the queue of its events. Creates it at the first call.
  [[nodiscard]] ThreadLane& lane();
  /// Returns true if the calling thread has a lane, and with it a name.
  [[nodiscard]] bool hasLane() const;
  /// Creates the calling thread's lane under `name`; does nothing if the thread has a lane.
  void nameThread(std::string name);
  /// Returns the lanes of all threads, for the sender, which takes the events out of them.
  [[nodiscard]] std::vector<std::shared_ptr<ThreadLane>> lanes();
  /// Removes the lane of a thread that has ended. For the sender, after it has emptied the lane.
  void forget(const ThreadLane* lane);

  /// Calls `make(nowNs)` with the current time and pushes the event it returns into the calling
  /// thread's lane. The event may be dropped, and is then counted, if its kind is droppable and the
  /// lane is full.
  template <typename F>
  void record(F&& make) {
    ThreadLane& mine = lane();
    mine.beginWrite(now());
    mine.push(EventRecord(make(now())));
    mine.endWrite();
  }
  /// Records a marker: an event that notes something that happened at `step`, such as a changed
  /// knob with its value `before` and `after`. `text` is free text.
  void mark(events::MarkerKind kind, std::uint32_t step, double before = 0, double after = 0,
            std::string_view text = {});

  /// Sets the running step, to which events on all threads are attributed, and tells the observer.
  /// `earlier`: it began at the last noteStepBegin(). Training thread only.
  void setStep(std::uint32_t step, bool earlier = false) {
    step_.store(step, std::memory_order_relaxed);
    if (onStep_) onStep_(step, earlier ? StepBorder::kBeganEarlier : StepBorder::kBegins);
  }
  /// The next step may turn out to begin here. Training thread only.
  void noteStepBegin() {
    if (onStep_) onStep_(step(), StepBorder::kMayEnd);
  }
  using StepListener = std::function<void(std::uint32_t step, StepBorder border)>;
  /// Sets the observer's callback for the borders of steps; nullptr removes it. Must not run
  /// concurrently with setStep().
  void onStep(StepListener listener) { onStep_ = std::move(listener); }
  /// The running step, as setStep() set it.
  [[nodiscard]] std::uint32_t step() const { return step_.load(std::memory_order_relaxed); }
  /// Sets the running phase of the step; events on all threads are attributed to it.
  void setPhase(events::Phase phase) { phase_.store(phase, std::memory_order_relaxed); }
  /// Returns the id of the phase's name; locks only at the first call for a phase.
  [[nodiscard]] NameId phaseNameId(events::Phase phase);
  /// The running phase, as setPhase() set it.
  [[nodiscard]] events::Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  /// Sets whether waits count as deliberate in every phase, as in an evaluation or a checkpoint.
  void setDeliberate(bool deliberate) { deliberate_.store(deliberate, std::memory_order_relaxed); }
  /// Sets whether copies to the device outside of all phases are those of the step's batch, and so
  /// deliberate: in a script, nothing marks the move of the batch.
  void setMovesBatchesAnywhere(bool anywhere) { movesBatchesAnywhere_ = anywhere; }
  [[nodiscard]] bool movesBatchesAnywhere() const {
    return movesBatchesAnywhere_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool deliberate() const { return deliberate_.load(std::memory_order_relaxed); }
  /// Sets the probe level (what is recorded) and tells the observer. Training thread only, between
  /// steps.
  void setLevel(events::ProbeLevel level);
  /// Sets the observer's callback for changes of the level; nullptr removes it. Must not run
  /// concurrently with setLevel().
  void onLevel(std::function<void(events::ProbeLevel)> listener) { onLevel_ = std::move(listener); }
  [[nodiscard]] events::ProbeLevel level() const { return level_.load(std::memory_order_relaxed); }
  /// Sets whose work beginBlocked() is about: the thread that trains, by the id of its lane.
  void setTrainingThread(ThreadId id) { trainingThread_.store(id, std::memory_order_relaxed); }
  [[nodiscard]] ThreadId trainingThread() const {
    return trainingThread_.load(std::memory_order_relaxed);
  }
  /// The thread of `lane` begins to wait for the device, or an op on the CPU. Counts where that
  /// thread trains or runs a backward, for which the one that trains stands still. Returns true
  /// where it counts; endBlocked() must follow then.
  bool beginBlocked(const ThreadLane& lane);
  void endBlocked() { blocked_.fetch_sub(1, std::memory_order_release); }
  /// The thread that trains, which calls this, has just been blocked at `site` by a copy to the
  /// device.
  void noteCopyAt(CallSiteId site) {
    const std::uint64_t index = blocked().before - 1;
    copies_[index % copies_.size()] = {index, site};
  }
  /// The call site of the copy to the device that blocked the thread that trains as number `index`,
  /// counted from 0 over all that blocked it; kNoId where that was no copy, or is too long ago.
  /// That thread only.
  [[nodiscard]] CallSiteId copyAt(std::uint64_t index) const {
    const CopySite& copy = copies_[index % copies_.size()];
    return copy.index == index ? copy.site : kNoId;
  }
  /// What the training stands still for. Any thread may read it.
  struct Blocked {
    bool now = false;          ///< it waits for the device, or an op runs on the CPU
    std::uint64_t before = 0;  ///< how often the thread that trains did so itself until now
    bool operator==(const Blocked&) const = default;
  };
  [[nodiscard]] Blocked blocked() const {
    const std::uint64_t both = blocked_.load(std::memory_order_acquire);
    return {both % kOnceBlocked != 0, both / kOnceBlocked};
  }

  /// Sets whether the run is paused; heartbeats report it.
  void setPaused(bool paused) { paused_.store(paused, std::memory_order_relaxed); }
  [[nodiscard]] bool paused() const { return paused_.load(std::memory_order_relaxed); }

  /// Raises the largest memory counters seen since resetSeenPeaks(), in bytes, to these values
  /// where they are larger.
  void noteCounters(std::uint64_t currentBytes, std::uint64_t driverBytes);
  /// Sets seenPeakCurrent() and seenPeakDriver() to 0.
  void resetSeenPeaks();
  /// The largest current allocated memory seen since resetSeenPeaks(), in bytes.
  [[nodiscard]] std::uint64_t seenPeakCurrent() const { return peakCurrent_.load(); }
  /// The largest driver memory seen since resetSeenPeaks(), in bytes.
  [[nodiscard]] std::uint64_t seenPeakDriver() const { return peakDriver_.load(); }

 private:
  ThreadLane& addLane(std::string name);

  static inline std::atomic<Recorder*> active_{nullptr};

  RunClock clock_;
  TickClock& ticks_;
  std::uint64_t id_;  // tells this recorder from an earlier one at the same address
  NameTable names_;
  ModuleTable modules_;
  CallSites callSites_;
  SequenceModules sequenceModules_;
  Autograd autograd_;
  std::atomic<ThreadWatch> threadWatch_{nullptr};
  std::mutex lanesMutex_;
  std::vector<std::shared_ptr<ThreadLane>> lanes_;
  std::atomic<std::uint32_t> step_{0};
  std::atomic<events::Phase> phase_{events::Phase::None};
  std::array<std::atomic<NameId>, static_cast<std::size_t>(events::Phase::MAX) + 1> phaseNames_{};
  std::atomic<bool> deliberate_{false};
  std::atomic<bool> movesBatchesAnywhere_{false};
  std::atomic<events::ProbeLevel> level_{events::ProbeLevel::Monitor};
  std::function<void(events::ProbeLevel)> onLevel_;
  StepListener onStep_;
  std::atomic<bool> paused_{false};
  // Below kOnceBlocked: the threads that are blocked now. Above: Blocked::before.
  static constexpr std::uint64_t kOnceBlocked = 1 << 16;
  std::atomic<std::uint64_t> blocked_{0};
  struct CopySite {
    std::uint64_t index = ~std::uint64_t{0};
    CallSiteId site = kNoId;
  };
  std::array<CopySite, 64> copies_{};  ///< the newest, each at its index
  std::atomic<ThreadId> trainingThread_{0};
  std::atomic<std::uint64_t> peakCurrent_{0};
  std::atomic<std::uint64_t> peakDriver_{0};
};

}  // namespace highwater::probe
