#pragma once

#include <QJsonObject>

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "report/text_table.h"

namespace highwater::report {

/// Adds memory_model to a JSON report (see docs/report-json.md), null for the CPU and without steps
/// of known batch size. No setting is called safe where the findings say that memory grows.
void addTuningParts(const analysis::LiveStore& store, const analysis::Findings& findings,
                    QJsonObject& report);

/// Adds what the next larger batch would take, and the largest safe one, as a line of the text
/// report, and whether memory grows beyond that; if `full`, also what the process that trained
/// would have come to, and how sure the prediction is. Adds nothing where there is no memory model.
void addTuningLine(const analysis::LiveStore& store, const analysis::Findings& findings, bool full,
                   TextTable& head);

/// "128 at length 64, the most that the run allows (…; limit 15.89 GiB, 10 % under recommended)":
/// the largest batch that is safe by the model. Empty where there is no model that can be trusted,
/// no limit is known, or memory grows.
[[nodiscard]] std::string safeBatchLine(const analysis::LiveStore& store,
                                        const analysis::Findings& findings);

}  // namespace highwater::report
