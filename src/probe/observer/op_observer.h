#pragma once

#include <cstdint>
#include <memory>

#include "probe/stream/recorder.h"

namespace highwater::probe {

/// The device whose waits, copies and CPU fallbacks are recorded. kCuda only serves to check the
/// probe.
enum class DeviceKind : std::uint8_t { kMps, kCuda };

/// Observes every PyTorch op of the process on all threads, from construction to destruction,
/// through global RecordFunction callbacks. The recorder's level decides what it does: `monitor`
/// records sync points (ops that make the host wait) and CPU fallbacks and publishes open ops,
/// `ops` also records every op, `off` runs no callback. An op that is open while the level changes
/// is ended by the callback that began it. Only one observer may exist at a time.
class OpObserver {
 public:
  /// Installs the callbacks and makes `recorder` the active one. `recorder` must outlive the
  /// observer.
  explicit OpObserver(Recorder& recorder, DeviceKind device = DeviceKind::kMps);
  /// Removes the callbacks; no recorder is active any more.
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
