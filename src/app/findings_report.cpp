#include "app/findings_report.h"

#include <QJsonArray>

#include "app/terminal.h"
#include "core/units.h"

namespace highwater::app {
namespace {

using analysis::AcceptedFallback;
using analysis::Finding;
using analysis::Findings;

QJsonValue text(const std::string& value) {
  return QString::fromStdString(value);
}

QJsonValue orNull(const std::optional<double>& value) {
  return value ? QJsonValue(*value) : QJsonValue();
}

/// The advice as it is followed without a window.
std::string adviceText(const Finding& finding) {
  const bool acceptable = finding.kind == analysis::FindingKind::Fallback;
  return finding.advice + (acceptable ? " (highwater accept)" : "");
}

QJsonObject findingJson(const Finding& finding) {
  QJsonArray ops;
  for (const std::string& op : finding.ops) ops.append(text(op));
  const std::string_view key = findingKey(finding.kind);
  return {{"kind", text(std::string(key))},
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
          {"where", text(finding.where)}};
}

std::string acceptedLine(const AcceptedFallback& accepted) {
  const std::string reason = accepted.reason.empty() ? "no reason given" : accepted.reason;
  return "  Accepted: " + plain(accepted.op) + " on the CPU, " + std::to_string(accepted.count) +
         " times, " + formatDuration(static_cast<std::int64_t>(accepted.costMs * kNsPerMs)) +
         " a step: " + plain(reason) + '\n';
}

}  // namespace

std::string findingsText(const Findings& findings) {
  if (findings.steps == 0) return "Findings  none: there are too few steps to judge\n";
  std::string lines;
  if (findings.found.empty()) {
    lines = findings.unobserved
                ? "Findings  of memory none; waits and fallbacks were not looked for (level off)\n"
                : "Findings  none in " + std::to_string(findings.steps) + " steps\n";
  } else {
    lines = "Findings\n";
  }
  int number = 0;
  for (const Finding& finding : findings.found) {
    lines += "  " + std::to_string(++number) + ". " + plain(finding.title) + "\n     " +
             plain(finding.evidence) + "\n     To do: " + plain(adviceText(finding)) + '\n';
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

}  // namespace highwater::app
