#pragma once

#include <QJsonObject>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "session/recording_loader.h"

namespace highwater::app {

/// Raised when a key goes away or changes its meaning.
inline constexpr int kReportSchema = 1;

/// The report of a recording for programs: snake_case, bytes as integers, times in ms, null where
/// something is unknown.
[[nodiscard]] QJsonObject reportJson(const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const session::RecordingCondition& condition);

}  // namespace highwater::app
