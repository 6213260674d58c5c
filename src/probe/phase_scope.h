#pragma once

#include "probe/device_counters.h"
#include "probe/peak_meter.h"
#include "probe/recorder.h"
#include "probe/sampler.h"

namespace highwater::probe {

/// One phase of the step that runs, from construction to destruction, on the training thread. The
/// counters are sampled at both of its boundaries where there are any. At level off it only says
/// which phase runs.
class PhaseScope {
 public:
  /// `counters` and `peaks` may be nullptr.
  PhaseScope(Recorder& recorder, CounterSource* counters, events::Phase phase,
             PeakMeter* peaks = nullptr)
      : recorder_(recorder),
        phase_(phase),
        recorded_(recorder.level() != events::ProbeLevel::Off),
        counters_(recorded_ ? counters : nullptr),
        peaks_(recorded_ ? peaks : nullptr) {
    if (counters_) recordMemorySample(recorder_, *counters_, events::SampleOrigin::PhaseBoundary);
    if (peaks_) peaks_->beginPhase();
    const NameId name = recorder_.phaseNameId(phase);
    recorder_.setPhase(phase);
    beginNs_ = recorder_.now();
    recorder_.sawTime(beginNs_);
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
  events::Phase phase_;
  bool recorded_;
  CounterSource* counters_;
  PeakMeter* peaks_;
  std::int64_t beginNs_ = 0;
};

}  // namespace highwater::probe
