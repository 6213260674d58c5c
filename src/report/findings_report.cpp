#include "report/findings_report.h"

#include <QJsonArray>

#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

using analysis::AcceptedFallback;
using analysis::Finding;
using analysis::Findings;

/// The advice with the command that accepts a fallback.
std::string adviceText(const Finding& finding) {
  const bool acceptable = finding.kind == analysis::FindingKind::Fallback;
  return finding.advice + (acceptable ? " (highwater accept)" : "");
}

QJsonObject findingJson(const Finding& finding) {
  QJsonArray ops;
  for (const std::string& op : finding.ops) ops.append(text(op));
  const std::string_view key = findingKey(finding.kind);
  return {{"kind", text(key)},
          {"title", text(finding.title)},
          {"evidence", text(finding.evidence)},
          {"advice", text(adviceText(finding))},
          {"weight", finding.weight},
          {"cost_ms_per_step", orNull(finding.costMs)},
          {"cost_bytes_per_step",
           finding.costBytes ? QJsonValue(static_cast<qint64>(*finding.costBytes)) : QJsonValue()},
          {"estimate", finding.estimate},
          {"first_step", static_cast<qint64>(finding.firstStep)},
          {"last_step", static_cast<qint64>(finding.lastStep)},
          {"count", static_cast<qint64>(finding.count)},
          {"ops", ops},
          {"where", text(finding.where)},
          {"line", textOrNull(finding.line)}};
}

std::string acceptedLine(const AcceptedFallback& accepted) {
  const std::string reason = accepted.reason.empty() ? "no reason given" : accepted.reason;
  return "  Accepted: " + plainText(accepted.op) + " on the CPU, " +
         std::to_string(accepted.count) + " times, " + formatMs(accepted.costMs) +
         " a step: " + plainText(reason) + '\n';
}

}  // namespace

std::string findingsText(const Findings& findings) {
  if (findings.steps == 0) {
    return "Findings  none: there are too few steps, the first and " +
           std::to_string(analysis::kLeastSteps) + " more are needed\n";
  }
  std::string lines;
  if (findings.found.empty()) {
    lines =
        findings.unobserved
            ? "Findings  none about memory; waits and fallbacks were not looked for (level off)\n"
            : "Findings  none in " + std::to_string(findings.steps) + " steps\n";
  } else {
    lines = "Findings\n";
  }
  int number = 0;
  for (const Finding& finding : findings.found) {
    lines += "  " + std::to_string(++number) + ". " + plainText(finding.title) + "\n     " +
             plainText(finding.evidence) + "\n     To do: " + plainText(adviceText(finding)) + '\n';
  }
  for (const AcceptedFallback& accepted : findings.accepted) lines += acceptedLine(accepted);
  return lines;
}

void addFindings(const Findings& findings, QJsonObject& report) {
  QJsonArray found, accepted;
  for (const Finding& finding : findings.found) found.append(findingJson(finding));
  for (const AcceptedFallback& each : findings.accepted) {
    accepted.append(QJsonObject{{"op", text(each.op)},
                                {"reason", text(each.reason)},
                                {"count", static_cast<qint64>(each.count)},
                                {"cost_ms_per_step", each.costMs}});
  }
  report["observed"] = !findings.unobserved;
  report["judged_steps"] = static_cast<qint64>(findings.steps);
  report["findings"] = found;
  report["accepted_fallbacks"] = accepted;
}

}  // namespace highwater::report
