#pragma once

#include "probe/device_counters.h"
#include "probe/recorder.h"
#include "probe/sampler.h"

namespace highwater::probe {

/// One phase of the step that runs, from construction to destruction, on the training thread. The
/// counters are sampled at both of its boundaries where there are any.
class PhaseScope {
 public:
  /// `counters` may be nullptr.
  PhaseScope(Recorder& recorder, CounterSource* counters, events::Phase phase)
      : recorder_(recorder), counters_(counters), phase_(phase) {
    if (counters_) recordMemorySample(recorder_, *counters_, events::SampleOrigin::PhaseBoundary);
    const NameId name = recorder_.phaseNameId(phase);
    recorder_.setPhase(phase);
    beginNs_ = recorder_.now();
    recorder_.lane().openSpans().push(beginNs_, name, recorder_.step(), phase);
  }
  ~PhaseScope() {
    recorder_.lane().openSpans().pop();
    recorder_.record([this](std::int64_t nowNs) {
      return events::PhaseSpan(beginNs_, nowNs - beginNs_, recorder_.step(), recorder_.lane().id(),
                               phase_);
    });
    recorder_.setPhase(events::Phase::None);
    if (counters_) recordMemorySample(recorder_, *counters_, events::SampleOrigin::PhaseBoundary);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Recorder& recorder_;
  CounterSource* counters_;
  events::Phase phase_;
  std::int64_t beginNs_ = 0;
};

}  // namespace highwater::probe
