#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"

namespace highwater::analysis {

/// A change after which steps cannot be compared with those before: of batch size, sequence length,
/// loss interval, gradient accumulation, precision, memory fraction, the probe's level, or a knob
/// of the user's script.
struct SettingsChange {
  std::int64_t timeNs = 0;
  std::string text;      ///< "batch 16 → 32"
  bool isLevel = false;  ///< of the probe's level: of what is recorded, not of the training
};

/// The changes of a run in order of time. The batch size of a script counts only where it is a
/// knob: otherwise it is a guess, which differs for the last batch of an epoch.
[[nodiscard]] std::vector<SettingsChange> settingsChanges(const LiveStore& store);

/// The steps of a run to which its current numbers belong: the newest, but none from before the
/// last change.
struct RecentSteps {
  std::size_t firstRow = 0, count = 0;  ///< rows of LiveStore::steps()
  std::string since;  ///< the change that they begin with; empty if there was none among `most`
};
/// The newest steps since the last change, at most `most`. They begin with the first step that
/// began after the change; without such a step `count` is 0.
[[nodiscard]] RecentSteps recentSteps(const LiveStore& store, std::size_t most);

/// How many different settings the steps of a range were made with, at least 1.
[[nodiscard]] std::size_t settingsIn(const LiveStore& store, const TimeRange& range);

}  // namespace highwater::analysis
