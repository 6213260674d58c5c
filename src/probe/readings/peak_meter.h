#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

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

/// Notices new peaks of current allocated memory without resetting them, which a script would see
/// in its own readings. Training thread only: PyTorch reads them under the allocator's lock
/// (MPSAllocator.mm, getDeviceStats), which another thread might wait for.
class RisenPeak {
 public:
  /// Reads `source`, which must outlive this.
  explicit RisenPeak(PeakSource& source) : source_(source) {}

  /// The peak, in bytes, if it has risen since the last call; 0 if not, at the first call, and
  /// where it is unknown. `currentBytes` of memory are allocated now.
  [[nodiscard]] std::uint64_t take(std::uint64_t currentBytes) {
    if (isUnknown_) return 0;
    const std::optional<DevicePeaks> peaks = source_.read();
    // Before the first allocation there are none. Later, a reading that fails once always does,
    // and an exception of libtorch's takes long.
    isUnknown_ = !peaks && currentBytes > 0;
    if (!peaks) return 0;
    const std::uint64_t before = std::exchange(last_, peaks->peakCurrentBytes);
    return before > 0 && last_ > before ? last_ : 0;
  }

 private:
  PeakSource& source_;
  std::uint64_t last_ = 0;
  bool isUnknown_ = false;
};

}  // namespace highwater::probe
