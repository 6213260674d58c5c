#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "probe/observer/census_ops.h"
#include "probe/observer/device_kind.h"
#include "probe/observer/watched_ops.h"
#include "probe/observer/watched_thread.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Observes PyTorch's ops, from construction to destruction. The recorder's level decides how:
///
/// - `off`: no kernel observes and no callback is enabled.
/// - `monitor`: kernels of their own observe the ops that can wait or fall back (WatchedOps); all
///   other ops run as if nobody observed.
/// - `ops`: the same, and a global RecordFunction callback records every op of all threads.
///
/// At both, the work of the ops of one step and of one evaluation is counted (CensusOps).
///
/// At `monitor` a marker says so where another user of the dispatcher's key leaves it blind.
///
/// An op that both see is observed by the one that saw it first, which also ends it if the level
/// changes meanwhile. Only one observer may exist at a time. The thread that constructs it must be
/// the one that trains, changes the level and destroys it.
class OpObserver {
 public:
  /// Begins to observe and makes `recorder` the active one. `recorder` must outlive the observer.
  explicit OpObserver(Recorder& recorder, DeviceKind device = DeviceKind::kMps);
  /// Removes the kernels and the callback; no recorder is active any more. What WatchedOps leaves
  /// behind does nothing.
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

  /// An evaluation begins: see CensusOps.
  void noteEvaluation() { census_.noteEvaluation(); }
  /// A phase of an evaluation ends: see CensusOps.
  void noteEvaluationPart() { census_.noteEvaluationPart(); }

  /// Has all kernels and callbacks of the process do nothing from now on. For the child of a fork,
  /// where nothing can be removed.
  static void silence() noexcept;

 private:
  class Registrations;

  void follow(events::ProbeLevel level);

  Recorder& recorder_;
  DeviceKind device_;
  std::uint64_t callback_;
  std::unique_ptr<Registrations> registrations_;
  std::optional<WatchedOps> watchedOps_;
  std::optional<WatchedThread> thisThread_;
  CensusOps census_;
};

}  // namespace highwater::probe
