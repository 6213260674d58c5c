#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "probe/device_counters.h"
#include "probe/recorder.h"

namespace highwater::probe {

/// Exact peaks of each phase and of the step that they make up. It resets the process's peak
/// statistics at every boundary, so it is only for who owns the training loop. Training thread
/// only.
class PeakMeter {
 public:
  /// Both outlive the meter.
  PeakMeter(Recorder& recorder, PeakSource& source) : recorder_(recorder), source_(source) {}

  /// Forgets what was before the step.
  void beginStep() {
    step_ = {};
    known_ = true;
    source_.reset();
  }
  void beginPhase() {
    // What happened since the last phase is the step's, but no phase's.
    take();
    source_.reset();
  }
  /// Records the memory of `phase`.
  void endPhase(events::Phase phase) {
    const std::optional<DevicePeaks> peaks = take();
    if (!peaks) return;
    recorder_.record([&](std::int64_t nowNs) {
      return events::PhaseMemory(nowNs, peaks->peakCurrentBytes, peaks->peakReservedBytes,
                                 peaks->currentBytes, recorder_.step(), phase);
    });
  }
  /// The peak of current since beginStep(), phases or not; nothing where a reading failed.
  [[nodiscard]] std::optional<std::uint64_t> endStep() {
    take();
    if (!known_) return std::nullopt;
    return step_.peakCurrentBytes;
  }

 private:
  std::optional<DevicePeaks> take() {
    const std::optional<DevicePeaks> peaks = source_.read();
    known_ = known_ && peaks.has_value();
    if (peaks) step_.peakCurrentBytes = std::max(step_.peakCurrentBytes, peaks->peakCurrentBytes);
    return peaks;
  }

  Recorder& recorder_;
  PeakSource& source_;
  DevicePeaks step_;
  bool known_ = false;
};

}  // namespace highwater::probe
