#include "cli/doctor/self_test_report.h"

#include <QJsonArray>

#include "cli/doctor/json_text.h"
#include "cli/terminal.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/text_table.h"

namespace highwater::cli {
namespace {

using Align = report::TextTable::Align;

std::string seconds(const QJsonValue& ms) {
  return formatDecimals(ms.toDouble() / 1000, 1) + " s";
}

std::string measuresText(const QJsonArray& measures) {
  std::string text;
  for (const QJsonValue& each : measures) {
    const std::string number = QString::number(each["value"].toDouble(), 'g', 6).toStdString();
    const std::string unit = valueText(each["unit"]);
    text += (text.empty() ? "" : ", ") + valueText(each["name"]) + ' ' + number +
            (unit.empty() ? "" : ' ' + unit);
  }
  return text;
}

std::string fullText(const QJsonObject& check) {
  const std::string measures = measuresText(check["measures"].toArray());
  return valueText(check["id"]) + ": " + valueText(check["outcome"]) + "\n    assumed  " +
         valueText(check["assumption"]) + "\n    used by  " + valueText(check["relied_on_by"]) +
         "\n    observed " + valueText(check["detail"]) +
         (measures.empty() ? "" : "\n    measured " + measures) + "\n";
}

/// PyTorch's messages are long; only the JSON has them in full.
std::string shortDetail(const QJsonValue& value) {
  constexpr qsizetype kMost = 90;
  const QString text = value.toString();
  return text.size() <= kMost ? valueText(value)
                              : plainText((text.left(kMost - 1) + u'…').toStdString());
}

std::string tableText(const QJsonArray& checks) {
  report::TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
  for (const QJsonValue& each : checks) {
    table.add({valueText(each["outcome"]), valueText(each["id"]), seconds(each["time_ms"]),
               shortDetail(each["detail"])});
  }
  return table.text(2);
}

}  // namespace

std::string selfTestText(const QJsonObject& report) {
  const QJsonObject device = report["device"].toObject();
  const QJsonObject versions = report["versions"].toObject();
  std::string text =
      device["simulated"].toBool() ? "Self-test of the simulated mps" : "Self-test of mps";
  text += ", PyTorch " + valueText(versions["torch"]) + ", " +
          valueText(report["system"].toObject()["name"]) + "\n\n";
  const QJsonArray checks = report["checks"].toArray();
  text += tableText(checks);
  for (const QJsonValue& each : checks) {
    const QString outcome = each["outcome"].toString();
    if (outcome != QLatin1String("pass") && outcome != QLatin1String("skipped")) {
      text += '\n' + fullText(each.toObject());
    }
  }
  const QJsonObject counts = report["counts"].toObject();
  const auto count = [&](const char* key) {
    return std::to_string(counts[QLatin1String(key)].toInt()) + ' ' + key;
  };
  return text + '\n' + count("pass") + ", " + count("fail") + ", " + count("unknown") + ", " +
         count("skipped") + ", in " + seconds(report["time_ms"]) + '\n';
}

}  // namespace highwater::cli
