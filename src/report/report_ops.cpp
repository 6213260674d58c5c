#include "report/report_ops.h"

#include <QJsonArray>
#include <algorithm>
#include <cmath>

#include "analysis/account/memory_growth.h"
#include "analysis/op_summary.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

using analysis::LargeTensor;
using analysis::LiveStore;
using analysis::MemoryGrowth;
using analysis::ModuleShare;
using analysis::OpShare;
using analysis::OpSummary;
using analysis::PhaseNet;
using Align = TextTable::Align;

constexpr std::size_t kMostRows = 10;

QJsonValue bytes(double value) {
  return static_cast<qint64>(std::llround(value));
}

double perStep(const OpSummary& ops, std::int64_t value) {
  return static_cast<double>(value) / static_cast<double>(std::max<std::uint64_t>(ops.steps, 1));
}

double msPerStep(const OpSummary& ops, std::int64_t ns) {
  return perStep(ops, ns) / kNsPerMs;
}

template <typename Share>
QJsonObject shareJson(const OpSummary& ops, const Share& share) {
  return {{"count", static_cast<qint64>(share.count)},
          {"count_per_step", perStep(ops, static_cast<std::int64_t>(share.count))},
          {"self_ms", toMs(share.selfNs)},
          {"self_ms_per_step", msPerStep(ops, share.selfNs)}};
}

QJsonArray opsJson(const OpSummary& ops) {
  QJsonArray all;
  for (const OpShare& each : ops.byOp) {
    QJsonObject share = shareJson(ops, each);
    share["op"] = text(each.op);
    all.append(share);
  }
  return all;
}

QJsonArray modulesJson(const OpSummary& ops) {
  QJsonArray all;
  for (const ModuleShare& each : ops.byModule) {
    QJsonObject share = shareJson(ops, each);
    share["module"] = text(each.module);
    share["backward_self_ms_per_step"] = msPerStep(ops, each.backwardSelfNs);
    share["net_bytes_per_step"] = bytes(perStep(ops, each.net.forward));
    share["backward_net_bytes_per_step"] = bytes(perStep(ops, each.net.backward));
    all.append(share);
  }
  return all;
}

QJsonArray phasesJson(const OpSummary& ops) {
  QJsonArray all;
  for (const PhaseNet& each : ops.byPhase) {
    all.append(
        QJsonObject{{"phase", text(phaseKey(each.phase))},
                    {"net_bytes_per_step", bytes(perStep(ops, each.inOps))},
                    {"outside_ops_net_bytes_per_step", bytes(perStep(ops, each.outsideOps))}});
  }
  return all;
}

QJsonArray tensorsJson(const OpSummary& ops) {
  QJsonArray all;
  for (const LargeTensor& each : ops.largest) {
    all.append(QJsonObject{{"bytes", static_cast<qint64>(each.bytes)},
                           {"op", text(each.op)},
                           {"shapes", text(each.shapes)},
                           {"module", text(each.module)},
                           {"backward", each.backward},
                           {"step", static_cast<qint64>(each.step)}});
  }
  return all;
}

QJsonValue growthJson(const LiveStore& store) {
  const auto growth = analysis::memoryGrowth(store);
  if (!growth) return QJsonValue();
  return QJsonObject{{"pairs", static_cast<qint64>(growth->pairs)},
                     {"median_bytes", bytes(growth->medianBytes)},
                     {"slope_bytes", bytes(growth->slopeBytes)},
                     {"shape", text(analysis::growthShapeKey(growth->shape))}};
}

/// "12.0 MiB", "-1.5 KiB", "0".
std::string signedBytes(double value) {
  const auto magnitude = static_cast<std::uint64_t>(std::llround(std::fabs(value)));
  if (magnitude == 0) return "0";
  return (value < 0 ? "\u2212" : "+") + formatBytes(magnitude);
}

std::string timesText(double count) {
  const bool isShort = count >= 10 || count == std::floor(count);
  return formatDecimals(count, isShort ? 0 : 1) + "\u00d7";
}

std::string moduleText(const std::string& module) {
  return module.empty() ? "(no module)" : plainText(module);
}

TextTable opTable(const OpSummary& ops, std::size_t width) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight});
  table.limit(0, opColumn(width));
  for (const OpShare& each : ops.byOp) {
    if (&each - ops.byOp.data() == kMostRows) break;
    table.add({plainText(each.op), timesText(perStep(ops, static_cast<std::int64_t>(each.count))),
               formatMs(msPerStep(ops, each.selfNs))});
  }
  return table;
}

TextTable moduleTable(const OpSummary& ops, std::size_t width) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  table.limit(0, opColumn(width));
  table.foldFrom(3);
  for (const ModuleShare& each : ops.byModule) {
    if (&each - ops.byModule.data() == kMostRows) break;
    table.add({moduleText(each.module),
               timesText(perStep(ops, static_cast<std::int64_t>(each.count))),
               formatMs(msPerStep(ops, each.selfNs)),
               "memory " + signedBytes(perStep(ops, each.net.forward)) + ", in backward " +
                   signedBytes(perStep(ops, each.net.backward))});
  }
  return table;
}

TextTable phaseTable(const OpSummary& ops) {
  TextTable table({Align::kLeft, Align::kRight, Align::kLeft});
  for (const PhaseNet& each : ops.byPhase) {
    table.add({std::string(phaseName(each.phase)), signedBytes(perStep(ops, each.inOps)),
               signedBytes(perStep(ops, each.outsideOps)) + " outside of ops"});
  }
  return table;
}

TextTable tensorTable(const OpSummary& ops, std::size_t width) {
  TextTable table({Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  table.limit(1, opColumn(width));
  table.foldFrom(2);
  for (const LargeTensor& each : ops.largest) {
    table.add({formatBytes(each.bytes), plainText(each.op),
               moduleText(each.module) + (each.backward ? ", backward" : "") + ", step " +
                   std::to_string(each.step),
               "of " + plainText(each.shapes)});
  }
  return table;
}

}  // namespace

void addOpParts(const LiveStore& store, QJsonObject& report) {
  report["memory_growth"] = growthJson(store);
  const OpSummary ops = analysis::summarizeOps(store);
  if (ops.ops == 0) {
    report["ops"] = QJsonValue();
    return;
  }
  report["ops"] = QJsonObject{{"steps", static_cast<qint64>(ops.steps)},
                              {"count", static_cast<qint64>(ops.ops)},
                              {"forgotten", static_cast<qint64>(ops.forgotten)},
                              {"by_op", opsJson(ops)},
                              {"by_module", modulesJson(ops)},
                              {"by_phase", phasesJson(ops)},
                              {"largest_tensors", tensorsJson(ops)}};
}

void addGrowthLine(const LiveStore& store, TextTable& head) {
  const std::optional<MemoryGrowth> growth = analysis::memoryGrowth(store);
  if (!growth) return;
  head.add({"Growth", "current at the end of a step: " + signedBytes(growth->slopeBytes) +
                          " a step over the whole run; " + signedBytes(growth->medianBytes) +
                          " from one step to the next (median of " + std::to_string(growth->pairs) +
                          " pairs of equal shape)"});
}

std::string opSections(const LiveStore& store, std::size_t width) {
  const OpSummary ops = analysis::summarizeOps(store);
  if (ops.ops == 0) return {};
  const std::string older =
      ops.forgotten > 0 ? "; " + std::to_string(ops.forgotten) + " older ops not counted" : "";
  const std::string ofSteps = " (a step, of " + std::to_string(ops.steps) + older + ")";
  return section("Ops by host self time, waits included" + ofSteps, opTable(ops, width), width) +
         section("Modules by host self time" + ofSteps, moduleTable(ops, width), width) +
         section("Memory by phase, allocated minus freed" + ofSteps, phaseTable(ops), width) +
         section("Largest tensors, by growth of current allocated (a reused buffer counts in full)",
                 tensorTable(ops, width), width);
}

}  // namespace highwater::report
