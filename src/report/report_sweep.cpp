#include "report/report_sweep.h"

#include <QJsonArray>
#include <cmath>

#include "core/units.h"
#include "report/report_values.h"
#include "report/text_table.h"

namespace highwater::report {
namespace {

using Align = TextTable::Align;

using tuning::SweptSetting;

const std::string kDash = "–";

std::string sizeOf(std::uint64_t bytes) {
  return bytes > 0 ? formatBytes(bytes) : kDash;
}

/// "2.5 %", "25 %": two digits are enough, and the table has to fit 80 columns.
std::string percentOf(double share) {
  const double percent = share * 100;
  return formatDecimals(percent, std::abs(percent) < 9.95 ? 1 : 0) + " %";
}

/// The interquartile range of the throughput as a share of its median.
std::string spreadOf(const SweptSetting& swept) {
  if (swept.tokensPerS <= 0 || swept.upperQuartile <= 0) return kDash;
  const double share = (swept.upperQuartile - swept.lowerQuartile) / swept.tokensPerS;
  return percentOf(share);
}

QJsonValue knownSize(std::uint64_t bytes) {
  return orNull(bytes > 0, integer(bytes));
}
QJsonValue knownReal(double value) {
  return orNull(value > 0, real(value));
}

}  // namespace

std::vector<std::string> sweepHeadings(const analysis::LiveStore& store) {
  return {"#",        "setting", "predicted", "at most",
          "measured", "error",   "step",      std::string(store.rateUnit()),
          "spread"};
}

std::vector<std::string> sweepCells(std::size_t number, const SweptSetting& swept) {
  const auto error = swept.error();
  return {swept.leftOut ? kDash : std::to_string(number),
          tuning::shortSettingText(swept.setting),
          sizeOf(swept.predicted.bytes),
          sizeOf(swept.predicted.upper),
          swept.outOfMemory ? "out of memory" : sizeOf(swept.peakDriver),
          error ? (*error >= 0 ? "+" : "") + percentOf(*error) : kDash,
          swept.stepMs > 0 ? formatMs(swept.stepMs) : kDash,
          swept.tokensPerS > 0 ? formatRate(swept.tokensPerS) : kDash,
          spreadOf(swept)};
}

std::string sweepReason(const SweptSetting& swept) {
  if (swept.leftOut) return "left out: " + swept.reason;
  return (swept.safe || swept.outOfMemory ? "" : "above the limit; ") + swept.reason;
}

QJsonObject settingJson(tuning::Setting setting) {
  return {{"batch", integer(setting.batch)}, {"length", integer(setting.length)}};
}

QJsonObject sweptJson(const SweptSetting& swept) {
  QJsonObject object = settingJson(swept.setting);
  const tuning::Prediction& predicted = swept.predicted;
  object["why"] = text(swept.reason);
  object["predicted_driver"] =
      orNull(predicted.bytes > 0, QJsonObject{{"bytes", knownSize(predicted.bytes)},
                                              {"lower", integer(predicted.lower)},
                                              {"upper", knownSize(predicted.upper)}});
  object["driver_peak"] = knownSize(swept.peakDriver);
  object["current_peak"] = knownSize(swept.peakCurrent);
  object["error"] = orNull(swept.error());
  object["safe"] = swept.safe;
  object["out_of_memory"] = swept.outOfMemory;
  object["step_ms"] = knownReal(swept.stepMs);
  object["tokens_per_s"] =
      orNull(swept.tokensPerS > 0, QJsonObject{{"p50", real(swept.tokensPerS)},
                                               {"p25", real(swept.lowerQuartile)},
                                               {"p75", real(swept.upperQuartile)}});
  return object;
}

QJsonObject leftOutJson(const SweptSetting& swept) {
  const QJsonObject all = sweptJson(swept);
  QJsonObject object = settingJson(swept.setting);
  for (const char* key : {"why", "predicted_driver"}) {
    object[QLatin1String(key)] = all[QLatin1String(key)];
  }
  return object;
}

void addSweepPart(const analysis::LiveStore& store, QJsonObject& report) {
  report["sweep"] = QJsonValue();
  const auto sweep = tuning::sweepOf(store);
  if (!sweep) return;
  QJsonArray settings;
  for (const SweptSetting& each : sweep->settings) settings.append(sweptJson(each));
  QJsonArray leftOut;
  for (const SweptSetting& each : sweep->leftOut) leftOut.append(leftOutJson(each));
  report["sweep"] =
      QJsonObject{{"settings", settings},
                  {"left_out", leftOut},
                  {"ended", sweep->ended},
                  {"complete", sweep->complete},
                  {"recommended", sweep->best ? settingJson(*sweep->best) : QJsonValue()},
                  {"reason", textOrNull(sweep->reason)}};
}

std::string sweepSection(const analysis::LiveStore& store, std::size_t width) {
  const auto sweep = tuning::sweepOf(store);
  if (!sweep || sweep->settings.empty()) return {};
  const std::vector<std::string> headings = sweepHeadings(store);
  std::vector<Align> columns(headings.size(), Align::kRight);
  columns[1] = Align::kLeft;
  columns.push_back(Align::kLeft);
  TextTable table(columns);
  const auto add = [&table](std::vector<std::string> cells, const std::string& reason) {
    cells.push_back(reason);
    table.add(std::move(cells));
  };
  add(headings, "why");
  for (std::size_t i = 0; i < sweep->settings.size(); ++i) {
    add(sweepCells(i + 1, sweep->settings[i]), sweepReason(sweep->settings[i]));
  }
  for (const SweptSetting& each : sweep->leftOut) add(sweepCells(0, each), sweepReason(each));
  table.foldFrom(columns.size() - 1);
  const std::string first = sweep->best
                                ? "  Recommended " + tuning::shortSettingText(*sweep->best) + ": "
                                : "  Recommended nothing: ";
  const std::string reason = sweep->ended ? sweep->reason : "the sweep did not end";
  return section("Sweep", table, width) + hangingText(first, reason, 4, width);
}

}  // namespace highwater::report
