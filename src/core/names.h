#pragma once

#include <array>
#include <string_view>

#include "core/events_generated.h"
#include "core/messages.h"

/// The texts of enum values: names for the screen, keys for JSON and command lines. A value that
/// this version does not know has the text "unknown".
namespace highwater {

/// All phases of a training step in their order, without None.
inline constexpr std::array<events::Phase, 6> kPhases = {
    events::Phase::BatchAssembly, events::Phase::DeviceMove, events::Phase::Forward,
    events::Phase::LossRead,      events::Phase::Backward,   events::Phase::OptimizerStep};

/// The name of a phase on the screen: "batch assembly". "outside a phase" for None, "unknown" for a
/// value outside of the enum.
[[nodiscard]] std::string_view phaseName(events::Phase phase);
/// The key of a phase in JSON and recordings: "batch_assembly". "unknown" for a value outside of
/// the enum.
[[nodiscard]] std::string_view phaseKey(events::Phase phase);

/// The name on the screen of what made the host wait for the device: "scalar read". "unknown" for a
/// value outside of the enum.
[[nodiscard]] std::string_view syncKindName(events::SyncKind kind);
/// The key in JSON and recordings of what made the host wait for the device: "scalar_read".
/// "unknown" for a value outside of the enum.
[[nodiscard]] std::string_view syncKindKey(events::SyncKind kind);
/// The key of a marker's kind in JSON and recordings: "batch_size", "out_of_memory". "unknown" for
/// a value outside of the enum.
[[nodiscard]] std::string_view markerKindKey(events::MarkerKind kind);
/// The word for a probe level on screen, in JSON and on command lines: "off", "monitor" or "ops".
/// "none" for None, "unknown" for a value outside of the enum.
[[nodiscard]] std::string_view probeLevelKey(events::ProbeLevel level);
/// The probe level that "off", "monitor" or "ops" stands for. ProbeLevel::None for any other text.
[[nodiscard]] events::ProbeLevel probeLevelFromKey(std::string_view key);
/// The word for a level of the system's memory pressure: "normal", "warning", "critical" or
/// "unknown".
[[nodiscard]] std::string_view pressureName(events::Pressure pressure);
/// The word for a thermal state of the machine, macOS's own: "nominal", "fair", "serious",
/// "critical" or "unknown".
[[nodiscard]] std::string_view thermalStateName(events::ThermalState state);
/// The plural that users see for a kind of events: "memory samples". "unknown" for None or a value
/// outside of the enum.
[[nodiscard]] std::string_view eventKindName(events::EventKind kind);
/// The key of a kind of events in JSON: "memory_samples". "unknown" for None or a value outside of
/// the enum.
[[nodiscard]] std::string_view eventKindKey(events::EventKind kind);
/// The key in JSON and recordings of the reason why a run ended: "finished", "crashed", and
/// "nonsense" for kProtocolViolation. "unknown" for a value outside of the enum.
[[nodiscard]] std::string_view runEndKey(RunEnd::Reason reason);

/// The key in JSON and recordings of what the steps of a run are: "training", "told" or
/// "iterations". "unknown" for a value outside of the enum.
[[nodiscard]] std::string_view stepsAreKey(StepsAre what);

/// The short name of the run's device for the screen: "mps", "simulated mps", "cpu", or "unknown
/// device".
[[nodiscard]] std::string_view deviceLabel(const DeviceReport& device);

/// The name of the span around an evaluation, which runs between two steps and may take long.
inline constexpr char kEvaluationSpan[] = "evaluation";
/// The names of the spans in which Highwater keeps a checkpoint of the built-in workload: its own
/// waits and copies.
inline constexpr char kCheckpointSpan[] = "checkpoint";
inline constexpr char kCheckpointWaitSpan[] = "wait before checkpoint";
/// The name of the spans in which Highwater holds a script up, to look for what keeps its memory.
inline constexpr char kOwnWorkSpan[] = "Highwater's own work";
/// The name of the spans in which a DataLoader's workers are created, make their first batches and
/// end. The first span of a start is one that does not continue another.
inline constexpr char kLoaderStartSpan[] = "starting DataLoader workers";

}  // namespace highwater
