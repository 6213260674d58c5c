#pragma once

#include <array>
#include <string_view>

#include "core/events_generated.h"
#include "core/messages.h"

/// The words for our enums: on screen, and in JSON.
namespace highwater {

inline constexpr std::array<events::Phase, 6> kPhases = {
    events::Phase::BatchAssembly, events::Phase::DeviceMove, events::Phase::Forward,
    events::Phase::LossRead,      events::Phase::Backward,   events::Phase::OptimizerStep};

/// "batch assembly"; "outside a phase" for None.
[[nodiscard]] std::string_view phaseName(events::Phase phase);
/// "batch_assembly", for programs.
[[nodiscard]] std::string_view phaseKey(events::Phase phase);

[[nodiscard]] std::string_view syncKindName(events::SyncKind kind);
[[nodiscard]] std::string_view syncKindKey(events::SyncKind kind);
[[nodiscard]] std::string_view markerKindKey(events::MarkerKind kind);
/// "off", "monitor" or "ops": on screen, on command lines and for programs.
[[nodiscard]] std::string_view probeLevelKey(events::ProbeLevel level);
/// ProbeLevel::None for another word.
[[nodiscard]] events::ProbeLevel probeLevelFromKey(std::string_view key);
[[nodiscard]] std::string_view pressureName(events::Pressure pressure);
/// "memory samples": what a drop or a violation is about.
[[nodiscard]] std::string_view eventKindName(events::EventKind kind);
[[nodiscard]] std::string_view eventKindKey(events::EventKind kind);
[[nodiscard]] std::string_view runEndKey(RunEnd::Reason reason);

/// "mps", "simulated mps" or "cpu": what the badge says.
[[nodiscard]] std::string_view deviceLabel(const DeviceReport& device);

}  // namespace highwater
