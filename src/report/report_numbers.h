#pragma once

#include <string>

#include "analysis/account/time_account.h"
#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "core/messages.h"
#include "core/recording_condition.h"
#include "report/text_table.h"

/// A run in rows of a name and a text, or a number: the same in text, Markdown and page.
namespace highwater::report {

/// What was trained: workload, scenario, preset, model, optimizer, dtype and parameters.
[[nodiscard]] std::string runLine(const RunDescription& run);

/// How many events of which kinds were dropped: "41 memory samples", or "no events".
[[nodiscard]] std::string droppedLine(const analysis::LiveStore& store);

/// Adds the rows of steps, memory, loss, waits and system; if `full`, the queue too, and of the
/// system also what is ordinary.
void addNumbers(TextTable& table, const analysis::LiveStore& store,
                const analysis::RunSummary& summary, bool full);

/// The rows at the head of a report: damage, numbers, time, largest safe batch, end, device, run,
/// data and versions; if `full`, also growth, idle time and device switches.
[[nodiscard]] TextTable headTable(const analysis::LiveStore& store,
                                  const analysis::RunSummary& summary,
                                  const analysis::Findings& findings,
                                  const RecordingCondition& condition,
                                  const analysis::TimeAccount& account, bool full);

/// The facts about steps, time and memory that are known and not zero: label and value.
[[nodiscard]] TextTable factTable(const analysis::LiveStore& store,
                                  const analysis::RunSummary& summary);

}  // namespace highwater::report
