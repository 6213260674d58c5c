#pragma once

#include <QJsonObject>
#include <string>

#include "analysis/live_store.h"
#include "app/text_table.h"

namespace highwater::app {

/// What the report says of a run beyond its totals, for programs. Adds to `report`:
///   device_path  null for the CPU; else of a step's backend switches (analysis::StepPath):
///                changes_p50, deliberate_p50, unplanned_p50, a step; chains, the most frequent
///                first: chain, changes, deliberate, steps, first_step; steps: step, changes,
///                deliberate
void addDetails(const analysis::LiveStore& store, QJsonObject& report);

/// The same for people: lines of the report's head.
void addDetailLines(const analysis::LiveStore& store, TextTable& head);

}  // namespace highwater::app
