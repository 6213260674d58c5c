#pragma once

#include <cstdint>

#include "probe/recorder.h"

namespace highwater::probe {

/// Watches every op of the process, on all threads, through one global RecordFunction callback:
/// records sync points and fallbacks on the device `mps`, and shows the open ops. One at a time.
class OpObserver {
 public:
  /// `recorder` outlives the observer.
  explicit OpObserver(Recorder& recorder);
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

 private:
  std::uint64_t handle_;
};

}  // namespace highwater::probe
