#include "analysis/settings_change.h"

#include <algorithm>

namespace highwater::analysis {
namespace {

bool isSetting(const LiveStore& store, const events::Marker& marker) {
  switch (marker.kind()) {
    case events::MarkerKind::BatchSize:
    case events::MarkerKind::SequenceLength:
      return !store.ownScript();
    case events::MarkerKind::LossInterval:
    case events::MarkerKind::Accumulation:
    case events::MarkerKind::Precision:
    case events::MarkerKind::MemoryFraction:
    case events::MarkerKind::ProbeLevel:
      return true;
    default:
      return false;
  }
}

/// The row of the first step that begins at or after `ns`.
std::size_t rowFrom(const LiveStore& store, std::int64_t ns) {
  const auto& records = store.steps().records;
  const auto found =
      std::partition_point(records.begin(), records.end(),
                           [ns](const events::StepRecord& step) { return step.begin_ns() < ns; });
  return static_cast<std::size_t>(found - records.begin());
}

}  // namespace

std::vector<SettingsChange> settingsChanges(const LiveStore& store) {
  std::vector<SettingsChange> changes;
  for (const events::Marker& marker : store.markers()) {
    if (!isSetting(store, marker)) continue;
    changes.push_back({marker.time_ns(), store.markerText(marker),
                       marker.kind() == events::MarkerKind::ProbeLevel});
  }
  for (const ScriptKnobChange& change : store.scriptKnobChanges()) {
    changes.push_back(
        {change.timeNs, change.name + ' ' + change.before + " \u2192 " + change.after, false});
  }
  std::stable_sort(
      changes.begin(), changes.end(),
      [](const SettingsChange& a, const SettingsChange& b) { return a.timeNs < b.timeNs; });
  return changes;
}

RecentSteps recentSteps(const LiveStore& store, std::size_t most) {
  const std::size_t all = store.steps().records.size();
  RecentSteps recent{all > most ? all - most : 0, std::min(all, most), {}};
  const std::vector<SettingsChange> changes = settingsChanges(store);
  if (changes.empty()) return recent;
  const std::size_t from = rowFrom(store, changes.back().timeNs);
  if (from <= recent.firstRow) return recent;
  recent.firstRow = from;
  recent.count = all - from;
  // Several settings that change before the same step are one change.
  for (const SettingsChange& change : changes) {
    if (rowFrom(store, change.timeNs) == from) {
      recent.since += (recent.since.empty() ? "" : ", ") + change.text;
    }
  }
  return recent;
}

std::size_t settingsIn(const LiveStore& store, const TimeRange& range) {
  const std::size_t first = rowFrom(store, range.beginNs), last = rowFrom(store, range.endNs);
  std::size_t settings = 1, row = first;
  for (const SettingsChange& change : settingsChanges(store)) {
    const std::size_t from = rowFrom(store, change.timeNs);
    if (from > row && from < last) {
      row = from;
      ++settings;
    }
  }
  return settings;
}

}  // namespace highwater::analysis
