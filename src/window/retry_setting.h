#pragma once

#include <QString>
#include <optional>

#include "analysis/live_store.h"

namespace highwater::window {

/// Whether a run ended because memory was used up.
[[nodiscard]] bool ranOutOfMemory(const analysis::LiveStore& store);

/// What to train with after a run that ran out of memory: batch size and sequence length of the
/// last steps that fitted, or else half of what failed. Empty for any other end, for a script, and
/// where nothing smaller is left.
[[nodiscard]] std::optional<Knobs> settingAfterOutOfMemory(const analysis::LiveStore& store);

/// "batch 32", or "batch 32, length 64" where the run failed with another length.
[[nodiscard]] QString settingText(const Knobs& setting, const Knobs& failed);

}  // namespace highwater::window
