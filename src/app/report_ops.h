#pragma once

#include <QJsonObject>
#include <string>

#include "analysis/live_store.h"
#include "app/text_table.h"

namespace highwater::app {

/// What steps leave in memory, and what their ops did, for programs. Adds to `report`:
///   memory_growth  null where unknown; median_bytes and slope_bytes a step, pairs
///                  (analysis::MemoryGrowth)
///   ops            null where no ops were recorded; else (analysis::OpSummary) steps, count;
///                  by_op, the longest self time first: op, count, self_ms, count_per_step,
///                  self_ms_per_step; by_module likewise, with module for op, and
///                  backward_self_ms_per_step, net_bytes_per_step, backward_net_bytes_per_step;
///                  by_phase: phase, net_bytes_per_step, outside_ops_net_bytes_per_step;
///                  largest_tensors: bytes, op, shapes, module, backward, step
void addOpParts(const analysis::LiveStore& store, QJsonObject& report);

/// The growth as a line of the report's head, where it is known.
void addGrowthLine(const analysis::LiveStore& store, TextTable& head);

/// The ops as sections of their own, ten rows each; empty where none were recorded.
[[nodiscard]] std::string opSections(const analysis::LiveStore& store);

}  // namespace highwater::app
