#pragma once

#include <QJsonObject>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "core/recording_condition.h"

namespace highwater::report {

/// Version of the JSON report, its "schema". Increment it when a key is removed or changes its
/// meaning.
inline constexpr int kReportSchema = 3;

/// The report of a recording as JSON: keys in snake_case, bytes as integers, times in milliseconds,
/// null for unknown values.
[[nodiscard]] QJsonObject reportJson(const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const RecordingCondition& condition);

}  // namespace highwater::report
