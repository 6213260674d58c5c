#pragma once

#include <QJsonObject>
#include <string>

#include "analysis/live_store.h"
#include "report/text_table.h"

namespace highwater::report {

/// Adds memory_growth and ops to a JSON report (see docs/report-json.md), each null if unknown.
void addOpParts(const analysis::LiveStore& store, QJsonObject& report);

/// Adds a line with the growth of allocated memory per step to the text report, if it is known.
void addGrowthLine(const analysis::LiveStore& store, TextTable& head);

/// The sections of the text report about ops, ten rows each, in lines of `width`. Empty if no ops
/// were recorded.
[[nodiscard]] std::string opSections(const analysis::LiveStore& store, std::size_t width);

}  // namespace highwater::report
