#pragma once

#include <QJsonArray>

#include "analysis/live_store.h"
#include "report/text_table.h"

namespace highwater::report {

/// The account of memory by region for the JSON report: see docs/report-json.md.
[[nodiscard]] QJsonArray memoryRegionsJson(const analysis::LiveStore& store);

/// The same as a table: of each region how often it came, its peaks and what it left. Empty where
/// memory was not measured and, unless `full`, where all that matters came in the steps.
[[nodiscard]] TextTable memoryRegionsTable(const analysis::LiveStore& store, bool full);

}  // namespace highwater::report
