#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "probe/readings/device_counters.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Measures exact memory peaks of each phase and of the whole step. Resets the process's peak
/// statistics at every boundary, so only the owner of the training loop may use it. Training thread
/// only.
class PeakMeter {
 public:
  /// Makes a meter that records into `recorder` and reads `source`. Both must outlive the meter.
  PeakMeter(Recorder& recorder, PeakSource& source) : recorder_(recorder), source_(source) {}

  /// Resets the peaks at the start of a step.
  void beginStep() {
    step_ = {};
    known_ = true;
    source_.reset();
  }
  /// Resets the peaks at the start of a phase. What was allocated since the last phase counts for
  /// the step only.
  void beginPhase() {
    // What happened since the last phase counts for the step, but for no phase.
    take();
    source_.reset();
  }
  /// Records the peaks since beginPhase() as a PhaseMemory event; records nothing where reading
  /// them failed.
  void endPhase(events::Phase phase) {
    const std::optional<DevicePeaks> peaks = take();
    if (!peaks) return;
    recorder_.record([&](std::int64_t nowNs) {
      return events::PhaseMemory(nowNs, peaks->peakCurrentBytes, peaks->peakReservedBytes,
                                 peaks->currentBytes, recorder_.step(), phase);
    });
  }
  /// Ends the step and returns the peak of current allocated memory since beginStep(), in bytes,
  /// also between phases. Returns nullopt where a reading failed.
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
