#pragma once

#include <string>

#include "analysis/live_store.h"

namespace highwater::report {

/// The fallbacks of an op (its full name) as Markdown for an issue: what happened and how often,
/// the shapes and the dtype as far as they were recorded, where it was called, and the versions.
/// Says so where the device is simulated. `version` is Highwater's. Empty if the op has not fallen
/// back.
[[nodiscard]] std::string fallbackIssue(const analysis::LiveStore& store, const std::string& op,
                                        const std::string& version);

}  // namespace highwater::report
