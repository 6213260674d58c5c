#include "core/names.h"

namespace highwater {

using events::EventKind;
using events::MarkerKind;
using events::Phase;
using events::Pressure;
using events::SyncKind;

std::string_view phaseName(Phase phase) {
  switch (phase) {
    case Phase::None:
      return "outside a phase";
    case Phase::BatchAssembly:
      return "batch assembly";
    case Phase::DeviceMove:
      return "device move";
    case Phase::Forward:
      return "forward";
    case Phase::LossRead:
      return "loss read";
    case Phase::Backward:
      return "backward";
    case Phase::OptimizerStep:
      return "optimizer step";
  }
  return "unknown phase";
}

std::string_view phaseKey(Phase phase) {
  switch (phase) {
    case Phase::None:
      return "none";
    case Phase::BatchAssembly:
      return "batch_assembly";
    case Phase::DeviceMove:
      return "device_move";
    case Phase::Forward:
      return "forward";
    case Phase::LossRead:
      return "loss_read";
    case Phase::Backward:
      return "backward";
    case Phase::OptimizerStep:
      return "optimizer_step";
  }
  return "unknown";
}

std::string_view syncKindName(SyncKind kind) {
  switch (kind) {
    case SyncKind::None:
      return "none";
    case SyncKind::ScalarRead:
      return "scalar read";
    case SyncKind::CopyToHost:
      return "copy to host";
    case SyncKind::CopyToDevice:
      return "copy to device";
    case SyncKind::Nonzero:
      return "nonzero";
    case SyncKind::Synchronize:
      return "synchronize";
    case SyncKind::Fallback:
      return "fallback";
  }
  return "unknown";
}

std::string_view syncKindKey(SyncKind kind) {
  switch (kind) {
    case SyncKind::None:
      return "none";
    case SyncKind::ScalarRead:
      return "scalar_read";
    case SyncKind::CopyToHost:
      return "copy_to_host";
    case SyncKind::CopyToDevice:
      return "copy_to_device";
    case SyncKind::Nonzero:
      return "nonzero";
    case SyncKind::Synchronize:
      return "synchronize";
    case SyncKind::Fallback:
      return "fallback";
  }
  return "unknown";
}

std::string_view markerKindKey(MarkerKind kind) {
  switch (kind) {
    case MarkerKind::None:
      return "none";
    case MarkerKind::BatchSize:
      return "batch_size";
    case MarkerKind::SequenceLength:
      return "sequence_length";
    case MarkerKind::LossInterval:
      return "loss_every";
    case MarkerKind::CacheEmptied:
      return "cache_emptied";
    case MarkerKind::OutOfMemory:
      return "out_of_memory";
    case MarkerKind::Recovered:
      return "recovered";
    case MarkerKind::Paused:
      return "paused";
    case MarkerKind::Resumed:
      return "resumed";
    case MarkerKind::Note:
      return "note";
  }
  return "unknown";
}

std::string_view pressureName(Pressure pressure) {
  switch (pressure) {
    case Pressure::Unknown:
      return "unknown";
    case Pressure::Normal:
      return "normal";
    case Pressure::Warning:
      return "warning";
    case Pressure::Critical:
      return "critical";
  }
  return "unknown";
}

std::string_view eventKindName(EventKind kind) {
  switch (kind) {
    case EventKind::None:
      return "events of no kind";
    case EventKind::MemorySample:
      return "memory samples";
    case EventKind::SystemSample:
      return "system samples";
    case EventKind::StepRecord:
      return "steps";
    case EventKind::PhaseSpan:
      return "phases";
    case EventKind::SyncPoint:
      return "sync points";
    case EventKind::FallbackEvent:
      return "fallbacks";
    case EventKind::Marker:
      return "markers";
    case EventKind::Evaluation:
      return "evaluations";
    case EventKind::OpenSpan:
      return "open spans";
    case EventKind::Heartbeat:
      return "heartbeats";
    case EventKind::DropRecord:
      return "drop records";
  }
  return "events of an unknown kind";
}

std::string_view eventKindKey(EventKind kind) {
  switch (kind) {
    case EventKind::None:
      return "none";
    case EventKind::MemorySample:
      return "memory_samples";
    case EventKind::SystemSample:
      return "system_samples";
    case EventKind::StepRecord:
      return "steps";
    case EventKind::PhaseSpan:
      return "phases";
    case EventKind::SyncPoint:
      return "sync_points";
    case EventKind::FallbackEvent:
      return "fallbacks";
    case EventKind::Marker:
      return "markers";
    case EventKind::Evaluation:
      return "evaluations";
    case EventKind::OpenSpan:
      return "open_spans";
    case EventKind::Heartbeat:
      return "heartbeats";
    case EventKind::DropRecord:
      return "drop_records";
  }
  return "unknown";
}

std::string_view runEndKey(RunEnd::Reason reason) {
  switch (reason) {
    case RunEnd::Reason::kFinished:
      return "finished";
    case RunEnd::Reason::kStopped:
      return "stopped";
    case RunEnd::Reason::kFailed:
      return "failed";
    case RunEnd::Reason::kCrashed:
      return "crashed";
    case RunEnd::Reason::kExited:
      return "exited";
    case RunEnd::Reason::kHung:
      return "hung";
    case RunEnd::Reason::kNonsense:
      return "nonsense";
    case RunEnd::Reason::kAborted:
      return "aborted";
  }
  return "unknown";
}

std::string_view deviceLabel(const DeviceReport& device) {
  if (device.selected == "mps") return device.simulated ? "simulated mps" : "mps";
  return device.selected == "cpu" ? "cpu" : "unknown device";
}

}  // namespace highwater
