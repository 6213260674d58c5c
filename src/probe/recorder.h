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
#include "probe/call_sites.h"
#include "probe/module_table.h"
#include "probe/name_table.h"
#include "probe/sequence_modules.h"
#include "probe/thread_lane.h"
#include "probe/tick_clock.h"

namespace highwater::probe {

/// Where everything that is measured in this process goes: one lane per thread, the definitions,
/// and where the training loop is. Outlives the sender, the sampler and the observer.
class Recorder {
 public:
  explicit Recorder(RunClock clock);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  [[nodiscard]] const RunClock& clock() const { return clock_; }
  /// Nanoseconds since the run's epoch: the time of an event that happens now.
  [[nodiscard]] std::int64_t now() const { return ticks_.now() - clock_.monotonicEpochNs; }
  /// From one now() to a later one of the same thread. Where the clock was corrected in between,
  /// the later one may be some nanoseconds early; a span's length is never negative.
  [[nodiscard]] static std::int64_t lengthNs(std::int64_t beginNs, std::int64_t endNs) {
    return endNs > beginNs ? endNs - beginNs : 0;
  }
  /// now() as somebody saw it last, for what needs no better: the clock is much of what looking at
  /// an op costs. The sampler, the sender and each phase see to it that it is some ms old at most.
  [[nodiscard]] std::int64_t recentNs() const { return recentNs_.load(std::memory_order_relaxed); }
  void sawTime(std::int64_t nowNs) { recentNs_.store(nowNs, std::memory_order_relaxed); }
  /// Some times a second, by the sender: keeps now() with the system's clock, and recentNs()
  /// recent.
  void lookAtClock();
  [[nodiscard]] NameTable& names() { return names_; }
  [[nodiscard]] ModuleTable& modules() { return modules_; }
  [[nodiscard]] CallSites& callSites() { return callSites_; }
  [[nodiscard]] SequenceModules& sequenceModules() { return sequenceModules_; }

  /// The recorder that an observer records into now; nullptr where nobody observes. Any thread.
  [[nodiscard]] static Recorder* active() { return active_.load(std::memory_order_acquire); }
  /// For the observer; `recorder` may be nullptr.
  static void setActive(Recorder* recorder) { active_.store(recorder, std::memory_order_release); }

  /// The calling thread's lane, made at the first call.
  [[nodiscard]] ThreadLane& lane();
  /// Whether the calling thread has a lane already, and with it a name.
  [[nodiscard]] bool hasLane() const;
  /// Names the calling thread, where it has no lane yet.
  void nameThread(std::string name);
  /// All lanes, for the sender; empty ones of threads that ended are forgotten.
  [[nodiscard]] std::vector<std::shared_ptr<ThreadLane>> lanes();
  void forget(const ThreadLane* lane);

  /// Stamps and pushes one event: `make(nowNs)` returns it.
  template <typename F>
  void record(F&& make) {
    ThreadLane& mine = lane();
    mine.beginWrite(now());
    mine.push(EventRecord(make(now())));
    mine.endWrite();
  }
  void mark(events::MarkerKind kind, std::uint32_t step, double before = 0, double after = 0,
            std::string_view text = {});

  /// Where the training loop is: what an event on any thread belongs to.
  void setStep(std::uint32_t step) { step_.store(step, std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t step() const { return step_.load(std::memory_order_relaxed); }
  void setPhase(events::Phase phase) { phase_.store(phase, std::memory_order_relaxed); }
  /// The id of its name, without a lock from the second time on.
  [[nodiscard]] NameId phaseNameId(events::Phase phase);
  [[nodiscard]] events::Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  /// Waits in here are meant, whatever their phase: an evaluation, a checkpoint.
  void setDeliberate(bool deliberate) { deliberate_.store(deliberate, std::memory_order_relaxed); }
  [[nodiscard]] bool deliberate() const { return deliberate_.load(std::memory_order_relaxed); }
  /// How closely to look. Between steps, by the thread that trains.
  void setLevel(events::ProbeLevel level);
  /// For the observer: called at each change of the level, nullptr: by nobody any more. Not while
  /// the level may be changed.
  void onLevel(std::function<void(events::ProbeLevel)> listener) { onLevel_ = std::move(listener); }
  [[nodiscard]] events::ProbeLevel level() const { return level_.load(std::memory_order_relaxed); }
  void setPaused(bool paused) { paused_.store(paused, std::memory_order_relaxed); }
  [[nodiscard]] bool paused() const { return paused_.load(std::memory_order_relaxed); }

  /// The largest counters that anybody read since the last reset, in bytes.
  void noteCounters(std::uint64_t currentBytes, std::uint64_t driverBytes);
  void resetSeenPeaks();
  [[nodiscard]] std::uint64_t seenPeakCurrent() const { return peakCurrent_.load(); }
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
  std::mutex lanesMutex_;
  std::vector<std::shared_ptr<ThreadLane>> lanes_;
  std::atomic<std::int64_t> recentNs_{0};
  std::atomic<std::uint32_t> step_{0};
  std::atomic<events::Phase> phase_{events::Phase::None};
  std::array<std::atomic<NameId>, static_cast<std::size_t>(events::Phase::MAX) + 1> phaseNames_{};
  std::atomic<bool> deliberate_{false};
  std::atomic<events::ProbeLevel> level_{events::ProbeLevel::Monitor};
  std::function<void(events::ProbeLevel)> onLevel_;
  std::atomic<bool> paused_{false};
  std::atomic<std::uint64_t> peakCurrent_{0};
  std::atomic<std::uint64_t> peakDriver_{0};
};

}  // namespace highwater::probe
