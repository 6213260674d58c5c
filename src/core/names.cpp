#include "core/names.h"

#include <cstddef>

namespace highwater {
namespace {

struct Words {
  std::string_view name;  ///< on screen
  std::string_view key;   ///< for programs
};

// One row for each value, in the order of events.fbs.
constexpr std::array<Words, 7> kPhaseWords = {{
    {"outside a phase", "none"},
    {"batch assembly", "batch_assembly"},
    {"device move", "device_move"},
    {"forward", "forward"},
    {"loss read", "loss_read"},
    {"backward", "backward"},
    {"optimizer step", "optimizer_step"},
}};
constexpr std::array<Words, 11> kSyncWords = {{
    {"none", "none"},
    {"scalar read", "scalar_read"},
    {"copy to host", "copy_to_host"},
    {"copy to device", "copy_to_device"},
    {"nonzero", "nonzero"},
    {"synchronize", "synchronize"},
    {"fallback", "fallback"},
    {"event wait", "event_wait"},
    {"equal", "equal"},
    {"unique", "unique"},
    {"value read", "value_read"},
}};
constexpr std::array<std::string_view, 4> kProbeLevelKeys = {"none", "off", "monitor", "ops"};
constexpr std::array<std::string_view, 17> kMarkerKeys = {"none",
                                                          "batch_size",
                                                          "sequence_length",
                                                          "loss_every",
                                                          "cache_emptied",
                                                          "out_of_memory",
                                                          "recovered",
                                                          "paused",
                                                          "resumed",
                                                          "note",
                                                          "probe_level",
                                                          "learning_rate",
                                                          "accumulation",
                                                          "precision",
                                                          "memory_fraction",
                                                          "keep_effective_batch",
                                                          "out_of_memory_policy"};
constexpr std::array<std::string_view, 4> kPressureNames = {"unknown", "normal", "warning",
                                                            "critical"};
constexpr std::array<std::string_view, 5> kThermalStateNames = {"unknown", "nominal", "fair",
                                                                "serious", "critical"};
constexpr std::array<std::string_view, 9> kRunEndKeys = {
    "unknown", "finished", "stopped", "failed", "crashed", "exited", "hung", "nonsense", "aborted"};

constexpr std::array<std::string_view, 3> kStepsAreKeys = {"training", "told", "iterations"};

// Every value needs a row.
static_assert(kStepsAreKeys.size() == static_cast<std::size_t>(StepsAre::kIterations) + 1);
static_assert(kPhaseWords.size() == static_cast<std::size_t>(events::Phase::MAX) + 1);
static_assert(kSyncWords.size() == static_cast<std::size_t>(events::SyncKind::MAX) + 1);
static_assert(kMarkerKeys.size() == static_cast<std::size_t>(events::MarkerKind::MAX) + 1);
static_assert(kProbeLevelKeys.size() == static_cast<std::size_t>(events::ProbeLevel::MAX) + 1);
static_assert(kPressureNames.size() == static_cast<std::size_t>(events::Pressure::MAX) + 1);
static_assert(kThermalStateNames.size() == static_cast<std::size_t>(events::ThermalState::MAX) + 1);
static_assert(kRunEndKeys.size() == static_cast<std::size_t>(RunEnd::Reason::kAborted) + 1);

/// nullptr for a value that this version does not know.
template <typename Row, std::size_t n, typename E>
const Row* row(const std::array<Row, n>& table, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < n ? &table[index] : nullptr;
}

constexpr std::string_view kUnknown = "unknown";

template <std::size_t n, typename E>
std::string_view nameIn(const std::array<Words, n>& table, E value) {
  const Words* words = row(table, value);
  return words ? words->name : kUnknown;
}

template <std::size_t n, typename E>
std::string_view keyIn(const std::array<Words, n>& table, E value) {
  const Words* words = row(table, value);
  return words ? words->key : kUnknown;
}

template <std::size_t n, typename E>
std::string_view wordIn(const std::array<std::string_view, n>& table, E value) {
  const std::string_view* word = row(table, value);
  return word ? *word : kUnknown;
}

}  // namespace

std::string_view phaseName(events::Phase phase) {
  return nameIn(kPhaseWords, phase);
}
std::string_view phaseKey(events::Phase phase) {
  return keyIn(kPhaseWords, phase);
}
std::string_view syncKindName(events::SyncKind kind) {
  return nameIn(kSyncWords, kind);
}
std::string_view syncKindKey(events::SyncKind kind) {
  return keyIn(kSyncWords, kind);
}
std::string_view markerKindKey(events::MarkerKind kind) {
  return wordIn(kMarkerKeys, kind);
}
std::string_view probeLevelKey(events::ProbeLevel level) {
  return wordIn(kProbeLevelKeys, level);
}
events::ProbeLevel probeLevelFromKey(std::string_view key) {
  for (std::size_t i = 1; i < kProbeLevelKeys.size(); ++i) {
    if (kProbeLevelKeys[i] == key) return static_cast<events::ProbeLevel>(i);
  }
  return events::ProbeLevel::None;
}
std::string_view pressureName(events::Pressure pressure) {
  return wordIn(kPressureNames, pressure);
}
std::string_view thermalStateName(events::ThermalState state) {
  return wordIn(kThermalStateNames, state);
}
std::string_view eventKindName(events::EventKind kind) {
  std::string_view name = kUnknown;
  withEventType(kind, [&name]<typename Event>(std::type_identity<Event>) {
    name = EventTraits<Event>::kName;
  });
  return name;
}
std::string_view eventKindKey(events::EventKind kind) {
  std::string_view key = kUnknown;
  withEventType(
      kind, [&key]<typename Event>(std::type_identity<Event>) { key = EventTraits<Event>::kKey; });
  return key;
}
std::string_view runEndKey(RunEnd::Reason reason) {
  return wordIn(kRunEndKeys, reason);
}

std::string_view stepsAreKey(StepsAre what) {
  return wordIn(kStepsAreKeys, what);
}

std::string_view deviceLabel(const DeviceReport& device) {
  if (device.selected == "mps") return device.simulated ? "simulated mps" : "mps";
  return device.selected == "cpu" ? "cpu" : "unknown device";
}

}  // namespace highwater
