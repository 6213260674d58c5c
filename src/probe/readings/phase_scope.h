#pragma once

#include "probe/observer/watched_thread.h"
#include "probe/readings/device_counters.h"
#include "probe/readings/peak_meter.h"
#include "probe/readings/sampler.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Records a phase of the current step, from construction to destruction, on the training thread.
/// Samples the memory counters at both ends. At the probe level off it records nothing and only
/// sets the recorder's current phase. The ops of the thread are watched (WatchedThread).
class PhaseScope {
 public:
  /// Begins `phase`. `counters` and `peaks` may be nullptr: their readings are then left out.
  PhaseScope(Recorder& recorder, CounterSource* counters, events::Phase phase,
             PeakMeter* peaks = nullptr)
      : recorder_(recorder),
        watched_(recorder),
        phase_(phase),
        recorded_(recorder.level() != events::ProbeLevel::Off),
        counters_(recorded_ ? counters : nullptr),
        peaks_(recorded_ ? peaks : nullptr) {
    if (counters_) recordMemorySample(recorder_, *counters_, events::SampleOrigin::PhaseBoundary);
    if (peaks_) peaks_->beginPhase();
    const NameId name = recorder_.phaseNameId(phase);
    recorder_.setPhase(phase);
    beginNs_ = recorder_.now();
    recorder_.lane().openSpans().push(beginNs_, name);
  }
  ~PhaseScope() {
    recorder_.lane().openSpans().pop();
    if (recorded_) {
      recorder_.record([this](std::int64_t nowNs) {
        return events::PhaseSpan(beginNs_, Recorder::lengthNs(beginNs_, nowNs), recorder_.step(),
                                 recorder_.lane().id(), phase_);
      });
    }
    if (peaks_) peaks_->endPhase(phase_);
    recorder_.setPhase(events::Phase::None);
    if (counters_) recordMemorySample(recorder_, *counters_, events::SampleOrigin::PhaseBoundary);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Recorder& recorder_;
  WatchedThread watched_;
  events::Phase phase_;
  bool recorded_;
  CounterSource* counters_;
  PeakMeter* peaks_;
  std::int64_t beginNs_ = 0;
};

}  // namespace highwater::probe
