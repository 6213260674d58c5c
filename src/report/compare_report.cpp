#include "report/compare_report.h"

#include <QJsonArray>
#include <algorithm>
#include <cmath>

#include "analysis/op_label.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/findings_report.h"
#include "report/report_values.h"
#include "report/text_table.h"

namespace highwater::report {
namespace {

using analysis::ComparedFact;
using analysis::ComparedOp;
using analysis::ComparedValue;
using analysis::Comparison;
using analysis::FactGroup;
using analysis::Finding;
using analysis::LimitOutcome;
using analysis::Quantity;
using analysis::RunComparison;
using Align = TextTable::Align;

constexpr std::size_t kMostOps = 10;       ///< lines that wait or fall back
constexpr double kLeastComparedMs = 0.05;  ///< a step, on either side
const std::string kUnknown = "\u2013";
const std::string kNumbersHead = "Whole run", kPlaceHead = "Where";

/// A table under a title, with the heads of its columns.
struct Part {
  std::string title;
  std::vector<std::string> heads;
  TextTable table;
};

std::string numberText(Quantity quantity, double value) {
  return std::isnan(value) ? kUnknown : analysis::factText(quantity, value);
}

/// "−22.0 ms (−11 %)".
std::string changeText(Quantity quantity, const ComparedValue& value) {
  const double change = value.change();
  if (std::isnan(change)) return kUnknown;
  const std::string size = analysis::factText(quantity, std::abs(change));
  if (size == analysis::factText(quantity, 0)) return "0";
  const std::string sign = change < 0 ? "\u2212" : "+";
  if (value.a == 0) return sign + size;
  constexpr double kManyTimes = 3;  // from here on a factor is read more easily
  const double ratio = value.b / value.a;
  if (std::abs(change / value.a) < 0.0005) return sign + size;
  return sign + size + " (" +
         (ratio >= kManyTimes
              ? formatDecimals(ratio, ratio < 10 ? 1 : 0) + "\u00d7"
              : sign + analysis::factText(Quantity::kShare, std::abs(change / value.a))) +
         ')';
}

/// Whether chance may explain the change.
std::string noiseText(Quantity quantity, const ComparedValue& value, bool hasNoise) {
  if (std::isnan(value.change()) || !hasNoise) return {};
  if (std::isnan(value.noise)) return "too few steps";
  const std::string noise = "\u00b1 " + analysis::factText(quantity, value.noise);
  return value.beyondNoise() ? noise : "within " + noise;
}

std::vector<std::string> factRow(const ComparedFact& each) {
  const Quantity quantity = each.fact->quantity;
  return {std::string(each.fact->label), numberText(quantity, each.value.a),
          numberText(quantity, each.value.b), changeText(quantity, each.value),
          noiseText(quantity, each.value, each.fact->ofStep != nullptr)};
}

bool isShown(const Comparison& compared, const ComparedFact& each) {
  const auto isNothing = [](double value) { return std::isnan(value) || value == 0; };
  const bool tells = !isNothing(each.value.a) || !isNothing(each.value.b);
  const bool isSmall = each.fact->quantity == Quantity::kMilliseconds &&
                       !(each.value.a >= kLeastComparedMs) && !(each.value.b >= kLeastComparedMs);
  const bool repeats =
      each.fact->key == "step_ms.mean" && !compared.a.meanTells() && !compared.b.meanTells();
  return tells && !isSmall && !repeats;
}

std::vector<std::string> heads(const std::string& first) {
  return {first, "A", "B", "Change", "Noise"};
}

TextTable numbersTable() {
  return TextTable({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
}

Part factsPart(const RunComparison& compared, const std::string& title,
               std::initializer_list<FactGroup> groups, const std::string& first) {
  Part part{title, heads(first), numbersTable()};
  for (const ComparedFact& each : compared.numbers.facts) {
    const bool isOfGroup =
        std::find(groups.begin(), groups.end(), each.fact->group) != groups.end();
    // What is neither better nor worse describes the machine, not the change.
    const bool isJudged = each.fact->better != analysis::Better::kNeither;
    // But whether both runs learn the same.
    const bool isLoss = each.fact->key == "loss.last" && first == kNumbersHead;
    if ((isLoss || (isOfGroup && isJudged)) && isShown(compared.numbers, each)) {
      part.table.add(factRow(each));
    }
  }
  return part;
}

Part settingsPart(const RunComparison& compared) {
  Part part{
      "What differs", {"Setting", "A", "B"}, TextTable({Align::kLeft, Align::kLeft, Align::kLeft})};
  for (const analysis::DifferentSetting& each : compared.settings) {
    part.table.add({each.name, plainText(each.a), plainText(each.b)});
  }
  return part;
}

Part regionsPart(const RunComparison& compared) {
  Part part{"Time by region, of the whole runs",
            {"Region", "A", "B", "Change"},
            TextTable({Align::kLeft, Align::kRight, Align::kRight, Align::kRight})};
  for (const analysis::ComparedRegion& each : compared.regions) {
    const ComparedValue value{each.msA, each.msB};
    part.table.add({std::string(analysis::regionName(each.region)), formatMs(each.msA),
                    formatMs(each.msB), changeText(Quantity::kMilliseconds, value)});
  }
  return part;
}

std::string whereText(const ComparedOp& op) {
  return op.where + (op.movedTo.empty() ? "" : " \u2192 " + op.movedTo) +
         (op.planned ? ", planned" : "");
}

Part opsPart(const RunComparison& compared) {
  Part part{"Waits and fallbacks, a step", heads("Op"),
            TextTable({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft,
                       Align::kLeft})};
  part.heads.push_back(kPlaceHead);
  part.table.foldFrom(5);
  for (const ComparedOp& op : compared.numbers.ops) {
    if (std::max(op.ms.a, op.ms.b) < kLeastComparedMs || !op.ms.beyondNoise()) continue;
    if (part.table.size() == kMostOps) break;
    part.table.add({plainText(analysis::opLabel(op.op, op.kind)), formatMs(op.ms.a),
                    formatMs(op.ms.b), changeText(Quantity::kMilliseconds, op.ms),
                    noiseText(Quantity::kMilliseconds, op.ms, true), plainText(whereText(op))});
  }
  return part;
}

Part findingsPart(const std::string& title, const std::vector<Finding>& findings) {
  Part part{title, {"Finding"}, TextTable({Align::kLeft})};
  for (const Finding& each : findings) part.table.add({plainText(findingWithLine(each))});
  return part;
}

std::string_view outcomeKey(LimitOutcome outcome) {
  return outcome == LimitOutcome::kKept     ? "kept"
         : outcome == LimitOutcome::kBroken ? "broken"
                                            : "unknown";
}

std::string_view outcomeText(LimitOutcome outcome) {
  return outcome == LimitOutcome::kKept     ? "kept"
         : outcome == LimitOutcome::kBroken ? "BROKEN"
                                            : "cannot be told";
}

Part limitsPart(const CompareReport& report) {
  Part part{"Limits (--fail-if)",
            {"Limit", "", "A", "B", "Change", "Noise"},
            TextTable({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                       Align::kLeft})};
  for (const analysis::FactLimit& limit : report.limits) {
    const ComparedFact* found = report.compared.numbers.find(limit.fact->key);
    std::vector<std::string> row =
        factRow(found ? *found : ComparedFact{limit.fact, {std::nan(""), std::nan("")}});
    row[0] = plainText(limit.text);
    row.insert(row.begin() + 1,
               std::string(outcomeText(analysis::judge(limit, report.compared.numbers))));
    part.table.add(std::move(row));
  }
  return part;
}

std::vector<Part> partsOf(const CompareReport& report) {
  const RunComparison& compared = report.compared;
  std::vector<Part> parts;
  parts.push_back(settingsPart(compared));
  parts.push_back(factsPart(compared, "Numbers",
                            {FactGroup::kTime, FactGroup::kMemory, FactGroup::kMachine},
                            kNumbersHead));
  parts.push_back(
      factsPart(compared, "Host time by phase, mean of a step", {FactGroup::kPhase}, "Phase"));
  parts.push_back(opsPart(compared));
  parts.push_back(findingsPart("Findings that B no longer has", compared.gone));
  parts.push_back(findingsPart("Findings that only B has", compared.come));
  parts.push_back(regionsPart(compared));
  parts.push_back(limitsPart(report));
  return parts;
}

std::string sideText(const analysis::RunSummary& summary, const std::string& sizes) {
  return std::to_string(summary.steps) + (summary.steps == 1 ? " step" : " steps") +
         (sizes.empty() ? "" : ", batch " + sizes);
}

/// What else differs by more than chance: "More than chance: Samples/s +7.5 %, Unplanned syncs
/// −0.27 ms (−100 %)." Empty without.
std::string otherChanges(const Comparison& compared) {
  std::string list;
  for (const ComparedFact& each : compared.facts) {
    const bool isOfTime = each.fact->group == FactGroup::kTime && each.fact->ofStep;
    // The step's own time stands in the sentence before.
    if (!isOfTime || !each.differs() || !isShown(compared, each) ||
        each.fact->key == "step_ms.p50" || each.fact->key == "step_ms.mean") {
      continue;
    }
    list += (list.empty() ? "" : ", ") + std::string(each.fact->label) + ' ' +
            changeText(each.fact->quantity, each.value);
  }
  return list.empty() ? list : "More than chance: " + list + '.';
}

/// The sentences above the tables.
std::vector<std::string> sentencesOf(const RunComparison& compared) {
  std::vector<std::string> all{analysis::comparisonText(compared.numbers) + '.'};
  if (const std::string other = otherChanges(compared.numbers); !other.empty()) {
    all.push_back(other);
  }
  const std::string &inA = compared.a.verdict.text, &inB = compared.b.verdict.text;
  if (!inA.empty() && inA == inB) {
    all.push_back("Both: " + inA);
  } else {
    if (!inA.empty()) all.push_back("A: " + inA);
    if (!inB.empty()) all.push_back("B: " + inB);
  }
  all.insert(all.end(), compared.cautions.begin(), compared.cautions.end());
  return all;
}

QJsonObject sideJson(const std::string& name, const analysis::RunSummary& summary,
                     const std::string& sizes, const analysis::Verdict& verdict) {
  return {{"recording", text(name)},
          {"steps", integer(summary.steps)},
          {"sizes", textOrNull(sizes)},
          {"verdict", text(verdict.text)}};
}

QJsonObject valueJson(const ComparedValue& value) {
  return {{"a", real(value.a)},
          {"b", real(value.b)},
          {"change", real(value.change())},
          {"noise", real(value.noise)}};
}

QJsonArray findingsJson(const std::vector<Finding>& findings) {
  QJsonArray all;
  for (const Finding& each : findings) {
    all.append(QJsonObject{{"kind", text(analysis::findingKey(each.kind))},
                           {"title", text(each.title)},
                           {"line", textOrNull(each.line)}});
  }
  return all;
}

}  // namespace

std::vector<std::string> CompareReport::failures() const {
  std::vector<std::string> all;
  for (const analysis::FactLimit& limit : limits) {
    const std::string name = "the limit \"" + limit.text + "\" ";
    const ComparedFact* found = compared.numbers.find(limit.fact->key);
    switch (analysis::judge(limit, compared.numbers)) {
      case LimitOutcome::kKept:
        break;
      case LimitOutcome::kBroken: {
        const Quantity quantity = limit.fact->quantity;
        const ComparedValue& value = found->value;
        const std::string noise = noiseText(quantity, value, limit.fact->ofStep != nullptr);
        all.push_back(name + "is broken: A " + numberText(quantity, value.a) + ", B " +
                      numberText(quantity, value.b) + ", " + changeText(quantity, value) +
                      (noise.empty() ? "" : ", noise " + noise));
        break;
      }
      case LimitOutcome::kUnknown: {
        const bool inA = found && !std::isnan(found->value.a);
        const bool inB = found && !std::isnan(found->value.b);
        all.push_back(name + "cannot be judged: " +
                      (inA && inB
                           ? "each run needs " + std::to_string(analysis::kLeastComparedSteps) +
                                 " steps, and A has " + std::to_string(compared.numbers.a.steps) +
                                 ", B " + std::to_string(compared.numbers.b.steps)
                           : std::string(inA   ? "B"
                                         : inB ? "A"
                                               : "neither run") +
                                 (inA || inB ? " does not know " : " knows ") +
                                 std::string(limit.fact->key)));
        break;
      }
    }
  }
  return all;
}

std::string compareText(const CompareReport& report, std::size_t width) {
  const Comparison& numbers = report.compared.numbers;
  TextTable head({Align::kLeft, Align::kLeft, Align::kLeft});
  head.add({"A", plainText(report.nameA), sideText(numbers.a, numbers.sizesA)});
  head.add({"B", plainText(report.nameB), sideText(numbers.b, numbers.sizesB)});
  std::string all = head.text(0, width) + '\n';
  for (const std::string& each : sentencesOf(report.compared)) {
    all += hangingText("", plainText(each), 2, width);
  }
  for (Part& part : partsOf(report)) {
    if (part.table.empty()) continue;
    // A place may fold to a line of its own, where a head says nothing.
    if (part.heads.back() == kPlaceHead) part.heads.back().clear();
    if (part.heads.size() > 1) part.table.addFirst(part.heads);
    all += section(part.title, part.table, width);
  }
  return all;
}

std::string compareMarkdown(const CompareReport& report) {
  const Comparison& numbers = report.compared.numbers;
  std::string all = "**A** " + markdownText(report.nameA) + " (" +
                    sideText(numbers.a, numbers.sizesA) + ")  \n**B** " +
                    markdownText(report.nameB) + " (" + sideText(numbers.b, numbers.sizesB) + ")\n";
  for (const std::string& each : sentencesOf(report.compared)) {
    all += '\n' + markdownText(each) + '\n';
  }
  for (const Part& part : partsOf(report)) {
    if (part.table.empty()) continue;
    all += "\n#### " + part.title + "\n\n" + part.table.markdown(part.heads);
  }
  return all;
}

QJsonObject compareJson(const CompareReport& report) {
  const RunComparison& compared = report.compared;
  const Comparison& numbers = compared.numbers;
  QJsonObject factsJson;
  for (const ComparedFact& each : numbers.facts) {
    QJsonObject value = valueJson(each.value);
    value["differs"] = each.differs();
    factsJson[text(each.fact->key).toString()] = value;
  }
  QJsonArray settings, cautions, regions, ops, limits;
  for (const analysis::DifferentSetting& each : compared.settings) {
    settings.append(
        QJsonObject{{"name", text(each.name)}, {"a", text(each.a)}, {"b", text(each.b)}});
  }
  for (const std::string& each : compared.cautions) cautions.append(text(each));
  for (const analysis::ComparedRegion& each : compared.regions) {
    regions.append(QJsonObject{{"region", text(analysis::regionKey(each.region))},
                               {"a_ms", real(each.msA)},
                               {"b_ms", real(each.msB)}});
  }
  for (const ComparedOp& op : numbers.ops) {
    QJsonObject value = valueJson(op.ms);
    value["op"] = text(op.op);
    value["where"] = text(op.where);
    value["moved_to"] = textOrNull(op.movedTo);
    value["kind"] = op.kind == events::SyncKind::None ? QJsonValue() : text(syncKindKey(op.kind));
    value["planned"] = op.planned;
    value["differs"] = op.ms.beyondNoise();
    ops.append(value);
  }
  for (const analysis::FactLimit& limit : report.limits) {
    limits.append(QJsonObject{{"limit", text(limit.text)},
                              {"key", text(limit.fact->key)},
                              {"outcome", text(outcomeKey(analysis::judge(limit, numbers)))}});
  }
  return {{"schema", kCompareSchema},
          {"a", sideJson(report.nameA, numbers.a, numbers.sizesA, compared.a.verdict)},
          {"b", sideJson(report.nameB, numbers.b, numbers.sizesB, compared.b.verdict)},
          {"summary", text(analysis::comparisonText(numbers))},
          {"same_sizes", numbers.sameTokens},
          {"settings", settings},
          {"cautions", cautions},
          {"facts", factsJson},
          {"regions", regions},
          {"ops", ops},
          {"findings_gone", findingsJson(compared.gone)},
          {"findings_new", findingsJson(compared.come)},
          {"limits", limits}};
}

}  // namespace highwater::report
