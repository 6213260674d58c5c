#pragma once

#include <QJsonObject>
#include <string>

#include "analysis/findings.h"

namespace highwater::app {

/// The findings for people: each with its cost, its evidence and what to do; then what was
/// accepted.
[[nodiscard]] std::string findingsText(const analysis::Findings& findings);

/// Adds to a report:
///   judged_steps        how many steps were judged, 0 where there are too few
///   findings            the worst first: kind, title, evidence, advice, weight (0 to 1),
///                       cost_ms_per_step, cost_bytes_per_step (one of both, or null), estimate,
///                       first_step, last_step, count, ops, where
///   accepted_fallbacks  op, reason, count, cost_ms_per_step
void addFindings(const analysis::Findings& findings, QJsonObject& report);

}  // namespace highwater::app
