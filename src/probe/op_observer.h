#pragma once

#include <cstdint>
#include <memory>

#include "probe/recorder.h"

namespace highwater::probe {

/// The device whose waits and copies are judged. kCuda is for checks of the probe only.
enum class DeviceKind : std::uint8_t { kMps, kCuda };

/// Watches every op of the process, on all threads, through global RecordFunction callbacks, as
/// closely as the recorder's level says: at `monitor` it records sync points and fallbacks on the
/// watched device and shows the open ops, at `ops` every op besides; at `off` no callback runs. An
/// op that is open while the level changes ends as it began. One observer at a time.
class OpObserver {
 public:
  /// `recorder` outlives the observer.
  explicit OpObserver(Recorder& recorder, DeviceKind device = DeviceKind::kMps);
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

 private:
  class Deregistrations;

  void follow(events::ProbeLevel level);

  Recorder& recorder_;
  std::uint64_t monitor_;
  std::uint64_t ops_;
  std::unique_ptr<Deregistrations> deregistrations_;
};

}  // namespace highwater::probe
