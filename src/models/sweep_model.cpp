#include "models/sweep_model.h"

#include <cmath>

#include "models/qt_text.h"

namespace highwater::models {
namespace {

QString sizeText(std::uint64_t bytes) {
  return bytes > 0 ? text(formatBytes(bytes)) : kNoValue;
}

}  // namespace

SweepModel::SweepModel(QObject* parent) : ColumnModel(parent) {
  const auto why = [this](const SweepRow& row) { return whyText(row.swept); };
  setColumns(Columns{
      {.head = tr("#"),
       .text = [](auto& row) { return row.swept.leftOut ? kNoValue : QString::number(row.number); },
       .number = [](auto& row) { return double(row.number); }},
      {.head = tr("Setting"),
       .text = [](auto& row) { return text(tuning::shortSettingText(row.swept.setting)); },
       .number =
           [](auto& row) { return double(row.swept.setting.batch) * row.swept.setting.length; },
       .isText = true},
      {.head = tr("Predicted"),
       .tip = tr("Driver memory, as predicted before the setting was measured"),
       .text = [](auto& row) { return sizeText(row.swept.predicted.bytes); },
       .number = [](auto& row) { return double(row.swept.predicted.bytes); }},
      {.head = tr("At most"),
       .tip = tr("The upper 95 % bound of that prediction"),
       .text = [](auto& row) { return sizeText(row.swept.predicted.upper); },
       .number = [](auto& row) { return double(row.swept.predicted.upper); }},
      {.head = tr("Measured"),
       .tip = tr("The peak of driver allocated, sampled"),
       .text =
           [](auto& row) {
             return row.swept.outOfMemory ? tr("out of memory") : sizeText(row.swept.peakDriver);
           },
       .number = [](auto& row) { return double(row.swept.peakDriver); }},
      {.head = tr("Error"),
       .text =
           [](auto& row) {
             const auto error = row.swept.error();
             if (!error) return kNoValue;
             return signedText(*error, QString::number(std::abs(*error) * 100, 'f', 1)) +
                    QStringLiteral(" %");
           },
       .number = [](auto& row) { return std::abs(row.swept.error().value_or(-1)); }},
      {.head = tr("Step ms"),
       .tip = tr("Median time of a step"),
       .text =
           [](auto& row) {
             return row.swept.stepMs > 0 ? QString::number(row.swept.stepMs, 'f', 1) : kNoValue;
           },
       .number = [](auto& row) { return row.swept.stepMs; }},
      {.head = tr("Per second"),
       .tip = tr("Median, in tokens a second, or samples where inputs have no length; by the batch "
                 "that the device executed"),
       .text =
           [](auto& row) {
             return row.swept.tokensPerS > 0 ? text(formatRate(row.swept.tokensPerS)) : kNoValue;
           },
       .number = [](auto& row) { return row.swept.tokensPerS; }},
      {.head = tr("Why"), .text = why, .cellTip = why},
  });
}

void SweepModel::refresh(const std::optional<tuning::Sweep>& sweep) {
  best_ = sweep ? sweep->best : std::nullopt;
  std::vector<SweepRow> rows;
  if (sweep) {
    for (const auto* part : {&sweep->settings, &sweep->leftOut}) {
      for (const tuning::SweptSetting& each : *part) rows.push_back({rows.size() + 1, each});
    }
  }
  replaceRows(std::move(rows), [](const SweepRow& row) { return row.number; });
}

tuning::Setting SweepModel::settingOf(int row) const {
  return rows()[static_cast<std::size_t>(row)].swept.setting;
}

QString SweepModel::whyText(const tuning::SweptSetting& swept) const {
  const QString reason = text(swept.reason);
  if (swept.leftOut) return tr("left out: %1").arg(reason);
  if (swept.setting == best_) return tr("recommended; %1").arg(reason);
  return swept.safe || swept.outOfMemory ? reason : tr("above the limit; %1").arg(reason);
}

}  // namespace highwater::models
