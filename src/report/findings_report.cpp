#include "report/findings_report.h"

#include <QJsonArray>
#include <algorithm>

#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_values.h"
#include "report/text_table.h"
#include "report/text_wrap.h"

namespace highwater::report {
namespace {

using analysis::AcceptedFallback;
using analysis::Finding;
using analysis::Findings;

QJsonObject gainJson(const analysis::Gain& gain) {
  return {{"estimate", gain.estimate}, {"low", gain.low}, {"high", gain.high}};
}

QJsonObject findingJson(const Finding& finding) {
  QJsonArray ops;
  for (const std::string& op : finding.ops) ops.append(text(op));
  const std::string_view key = findingKey(finding.kind);
  return {{"kind", text(key)},
          {"title", text(finding.title)},
          {"gain", textOrNull(finding.gain)},
          {"evidence", text(finding.evidence)},
          {"advice", text(findingAdvice(finding))},
          {"weight", finding.weight},
          {"vague", finding.vague},
          {"waits_ms", orNull(finding.waitsMs)},
          {"gain_ms", finding.gainMs ? QJsonValue(gainJson(*finding.gainMs)) : QJsonValue()},
          {"gain_measured", finding.tried.has_value()},
          {"gain_within_noise", finding.withinNoise},
          {"cost_ms_per_step", orNull(finding.waitsMs)},
          {"cost_bytes_per_step",
           finding.costBytes ? QJsonValue(static_cast<qint64>(*finding.costBytes)) : QJsonValue()},
          {"estimate", finding.estimate},
          {"first_step", static_cast<qint64>(finding.firstStep)},
          {"last_step", static_cast<qint64>(finding.lastStep)},
          {"count", static_cast<qint64>(finding.count)},
          {"ops", ops},
          {"where", text(finding.where)},
          {"line", textOrNull(finding.line)},
          {"source", textOrNull(std::string(findingSource(finding.kind)))}};
}

std::string acceptedText(const AcceptedFallback& accepted) {
  const std::string reason = accepted.reason.empty() ? "no reason given" : accepted.reason;
  return "Accepted: " + accepted.op + " on the CPU, " + std::to_string(accepted.count) +
         " times, " + formatMs(accepted.costMs) + " a step: " + reason;
}

}  // namespace

std::string findingHeadline(const Finding& finding) {
  return finding.title + (finding.gain.empty() ? "" : "; fixing it saves " + finding.gain);
}

std::string findingWithLine(const Finding& finding) {
  const bool saysLine = finding.title.find(finding.line) != std::string::npos;
  return findingHeadline(finding) + (saysLine ? "" : ", at " + finding.line);
}

std::string briefFindings(const Findings& findings, std::size_t width) {
  constexpr std::size_t kMost = 3;
  std::string lines;
  if (!findings.verdict.text.empty()) {
    lines = hangingText("", plainText(findings.verdict.text), 2, width);
  }
  for (std::size_t i = 0; i < std::min(kMost, findings.found.size()); ++i) {
    const Finding& finding = findings.found[i];
    lines +=
        hangingText(std::to_string(i + 1) + ". ", plainText(findingWithLine(finding)), 3, width);
  }
  if (findings.found.size() > kMost) {
    lines += "and " + std::to_string(findings.found.size() - kMost) + " more\n";
  }
  return lines.empty() ? lines : lines + '\n';
}

std::string findingAdvice(const Finding& finding) {
  const bool acceptable = finding.kind == analysis::FindingKind::Fallback;
  return finding.advice + (acceptable ? " (highwater accept)" : "");
}

std::string noFindingsText(const Findings& findings) {
  if (!findings.found.empty()) return {};
  if (findings.steps == 0) {
    return "none yet: the first step is not counted (warm-up), and " +
           std::to_string(analysis::kLeastSteps) + " more are needed";
  }
  if (findings.unobserved) {
    return "none about memory; waits and fallbacks were not looked for (level off)";
  }
  return "none in " + std::to_string(findings.steps) + " steps" +
         (findings.ofRange ? "" : " (without warm-up, the first)");
}

std::vector<std::string> afterFindings(const Findings& findings) {
  std::vector<std::string> texts;
  if (findings.steps == 0 && findings.found.empty()) return texts;
  // The verdict tells of the waits alone. Where that is all, its bounds are the closer ones: the
  // other's upper bound is the sum of all waits.
  const bool said =
      findings.verdict.text.find("host's waits") != std::string::npos && findings.gainOfWaitsMs &&
      findings.gainOfAllMs &&
      formatMs(findings.gainOfWaitsMs->estimate) == formatMs(findings.gainOfAllMs->estimate);
  if (findings.priced() > 1 && findings.gainOfAllMs && !said) {
    texts.push_back("Fixing all of these saves " + gainText(*findings.gainOfAllMs));
  }
  for (const analysis::TriedFix& fix : findings.tried) {
    texts.push_back("Tried " + resultText(fix));
  }
  for (const AcceptedFallback& accepted : findings.accepted) {
    texts.push_back(acceptedText(accepted));
  }
  return texts;
}

std::string findingsText(const Findings& findings, std::size_t width) {
  const std::string head = "Findings  ";
  std::string lines;
  if (!findings.verdict.text.empty()) {
    lines = hangingText("", plainText(findings.verdict.text), 2, width) + '\n';
  }
  const std::string none = noFindingsText(findings);
  lines += none.empty() ? "Findings\n" : hangingText(head, none, head.size(), width);
  int number = 0;
  for (const Finding& finding : findings.found) {
    const std::string begin = "  " + std::to_string(++number) + ". ", space(begin.size(), ' ');
    lines +=
        hangingText(begin, plainText(findingHeadline(finding)), space.size(), width) +
        hangingText(space, plainText(finding.evidence), space.size(), width) +
        hangingText(space, "To do: " + plainText(findingAdvice(finding)), space.size() + 2, width);
    if (const std::string_view source = findingSource(finding.kind); !source.empty()) {
      lines += hangingText(space, "See: " + std::string(source), space.size() + 2, width);
    }
  }
  for (const std::string& each : afterFindings(findings)) {
    lines += hangingText("  ", plainText(each), 4, width);
  }
  return lines;
}

std::string findingsMarkdown(const Findings& findings) {
  std::string lines;
  if (!findings.verdict.text.empty()) lines = markdownText(findings.verdict.text) + "\n\n";
  if (findings.found.empty()) {
    return lines + (findings.unobserved
                        ? "No findings about memory; waits were not recorded.\n"
                        : "No findings in " + std::to_string(findings.steps) + " steps.\n");
  }
  int number = 0;
  for (const Finding& finding : findings.found) {
    lines += std::to_string(++number) + ". **" + markdownText(findingHeadline(finding)) +
             "**  \n   " + markdownText(finding.evidence) +
             "  \n   To do: " + markdownText(findingAdvice(finding)) + '\n';
  }
  for (const analysis::TriedFix& fix : findings.tried) {
    lines += "\nTried " + markdownText(resultText(fix)) + '\n';
  }
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
  report["verdict"] = QJsonObject{{"bottleneck", text(bottleneckKey(findings.verdict.bottleneck))},
                                  {"text", text(findings.verdict.text)}};
  report["observed"] = !findings.unobserved;
  report["judged_steps"] = static_cast<qint64>(findings.steps);
  report["step_noise_ms"] = findings.noiseMs;
  report["gain_of_all_ms"] =
      findings.gainOfAllMs ? QJsonValue(gainJson(*findings.gainOfAllMs)) : QJsonValue();
  QJsonArray tried;
  for (const analysis::TriedFix& each : findings.tried) {
    tried.append(QJsonObject{{"line", textOrNull(each.change.line)},
                             {"knob", textOrNull(each.change.knob)},
                             {"value", textOrNull(each.change.value)},
                             {"gain_ms", gainJson(each.gain)},
                             {"step_ms", each.withMs},
                             {"changed_step_ms", each.changedMs},
                             {"per_batch", each.perBatch},
                             {"first_step", static_cast<qint64>(each.firstStep)},
                             {"last_step", static_cast<qint64>(each.lastStep)}});
  }
  report["findings"] = found;
  report["tried"] = tried;
  report["accepted_fallbacks"] = accepted;
}

}  // namespace highwater::report
