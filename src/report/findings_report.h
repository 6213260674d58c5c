#pragma once

#include <QJsonObject>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/findings/findings.h"

namespace highwater::report {

/// What is wrong in one line, and what fixing it saves where that is known.
[[nodiscard]] std::string findingHeadline(const analysis::Finding& finding);

/// The same with the line of code, where the headline does not name it.
[[nodiscard]] std::string findingWithLine(const analysis::Finding& finding);

/// What to do about a finding, with the command that accepts a fallback.
[[nodiscard]] std::string findingAdvice(const analysis::Finding& finding);

/// Why the list of findings is empty: "none in 59 steps (without warm-up, the first)". Empty where
/// it is not.
[[nodiscard]] std::string noFindingsText(const analysis::Findings& findings);

/// What follows the list, a text each: what fixing all of them saves, what was tried, and the
/// accepted fallbacks.
[[nodiscard]] std::vector<std::string> afterFindings(const analysis::Findings& findings);

/// The findings as a text: each with its cost, its evidence and what to do; then the accepted
/// fallbacks. Wrapped to `width`.
[[nodiscard]] std::string findingsText(const analysis::Findings& findings, std::size_t width);

/// The same as GitHub-flavoured Markdown: the verdict, then a list. Texts of the run are escaped.
[[nodiscard]] std::string findingsMarkdown(const analysis::Findings& findings);

/// The same at the end of a run, for the terminal: the verdict, and for each of the first three
/// findings a line with its place; how many more there are. Empty without either.
[[nodiscard]] std::string briefFindings(const analysis::Findings& findings, std::size_t width);

/// Adds observed, judged_steps, findings and accepted_fallbacks to a JSON report: see
/// docs/report-json.md.
void addFindings(const analysis::Findings& findings, QJsonObject& report);

}  // namespace highwater::report
