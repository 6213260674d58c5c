#pragma once

#include <string>

#include <QJsonObject>

#include "analysis/account/time_account.h"
#include "report/text_table.h"

namespace highwater::report {

/// Where the time of a run went, in a line: "12.3 s: steps 71 %, evaluations 20 %, start-up 9 %".
/// Empty for a run without time.
[[nodiscard]] std::string accountLine(const analysis::TimeAccount& account);

/// The parts of each region with their time, their share of the run, and how much of it the host
/// waited or ran ops on the CPU. The rows add up to the run.
[[nodiscard]] TextTable accountTable(const analysis::LiveStore& store,
                                     const analysis::TimeAccount& account);

/// The same for programs: `range_ms`, `regions`, and `rows`, which add up to it.
[[nodiscard]] QJsonObject accountJson(const analysis::LiveStore& store,
                                      const analysis::TimeAccount& account);

}  // namespace highwater::report
