#pragma once

#include <QJsonObject>
#include <string>

#include "analysis/live_store.h"
#include "app/text_table.h"

namespace highwater::app {

/// How host and device worked together, for programs. Adds to `report`, null for the CPU:
///   device_path      a step's backend switches (analysis::StepPath): changes_p50, deliberate_p50,
///                    accepted_p50, unplanned_p50; chains, the most frequent first: chain, changes,
///                    deliberate, accepted, steps, first_step; steps: step, changes, deliberate,
///                    accepted
///   execution        (analysis::ExecutionSummary) steps, queued_ms, device_span_ms: medians;
///                    phases: phases, steps, queued_ms, and as estimates executed_low_ms and
///                    executed_high_ms, each null where unknown; host_ahead, null where unknown:
///                    steps, p50_ms, max_ms, p50_steps, max_steps
///   idle_estimate    (analysis::IdleSummary) steps, step_ms (from begin to begin), low_ms, ms,
///                    high_ms: medians; causes, the longest first: cause, low_ms, ms, high_ms
///                    (medians), total_low_ms, total_ms, total_high_ms; per_step: step, step_ms,
///                    low_ms, ms, high_ms
void addDeviceParts(const analysis::LiveStore& store, QJsonObject& report);

/// The same for people: lines of the report's head.
void addDeviceLines(const analysis::LiveStore& store, TextTable& head);

/// And a section of its own: what was queued, and in what time it was executed. Empty where nothing
/// is known.
[[nodiscard]] TextTable executionTable(const analysis::LiveStore& store);

}  // namespace highwater::app
