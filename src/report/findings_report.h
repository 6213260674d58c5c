#pragma once

#include <QJsonObject>
#include <string>

#include "analysis/findings/findings.h"

namespace highwater::report {

/// The findings as a text: each with its cost, its evidence and what to do; then the accepted
/// fallbacks.
[[nodiscard]] std::string findingsText(const analysis::Findings& findings);

/// Adds observed, judged_steps, findings and accepted_fallbacks to a JSON report: see
/// docs/report-json.md.
void addFindings(const analysis::Findings& findings, QJsonObject& report);

}  // namespace highwater::report
