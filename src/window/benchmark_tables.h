#pragma once

#include <QStandardItemModel>

#include "tuning/benchmark.h"

namespace highwater::window {

/// Fills a table with the times of a benchmark: a row for each case and device, with the median of
/// a call, its quartiles, what a clock shows that does not wait, and the first call.
void fillTimes(QStandardItemModel& table, const tuning::Benchmark& benchmark);
/// Fills a table with the largest errors by module, of outputs and of gradients; empty without a
/// drift.
void fillModules(QStandardItemModel& table, const tuning::Benchmark& benchmark);

}  // namespace highwater::window
