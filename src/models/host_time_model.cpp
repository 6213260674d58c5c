#include "models/host_time_model.h"

#include <numeric>
#include <string>
#include <utility>

#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::Activity;
using analysis::HostTimeRow;

namespace {

bool isSampled(const HostTimeRow& row) {
  return row.samples > 0;
}

QString activityText(const HostTimeRow& row) {
  switch (row.activity) {
    case Activity::Work:
      return HostTimeModel::tr("works");
    case Activity::Wait:
      return HostTimeModel::tr("waits for the device");
    case Activity::Fallback:
      return HostTimeModel::tr("runs ops on the CPU");
    case Activity::LoaderStart:
      return HostTimeModel::tr("starts loader workers");
  }
  return {};
}

/// What the host ran at the line: the library's line that it called, or else the line itself.
QString lineText(const HostTimeRow& row) {
  if (row.site.line.empty()) return kNoValue;
  const std::string& called = row.site.library.empty() ? row.site.text : row.site.library;
  return called.empty() ? text(row.site.line)
                        : QStringLiteral("%1, %2").arg(text(row.site.line), text(called));
}

QString lineTip(const HostTimeRow& row) {
  if (!row.site.line.empty()) {
    QStringList lines{text(row.site.path) + QLatin1Char(':') + QString::number(row.site.number)};
    if (!row.site.text.empty()) lines << text(row.site.text);
    if (!row.site.library.empty()) lines << text(row.site.library);
    return lines.join(QLatin1Char('\n'));
  }
  return row.activity == Activity::Work
             ? HostTimeModel::tr("No host sample fell into it, or none of your lines was running")
             : HostTimeModel::tr("On a thread of backward, where no line of yours runs");
}

QString timeText(std::int64_t ns) {
  return QString::number(toMs(ns), 'f', 1);
}

}  // namespace

HostTimeModel::HostTimeModel(const analysis::LiveStore* store, QObject* parent)
    : ColumnModel(parent), store_(store) {
  setColumns(Columns{
      {.head = tr("Host"), .text = activityText},
      {.head = tr("Line"), .text = lineText, .cellTip = lineTip},
      {.head = tr("In"),
       .tip = tr("The part of the run that the line ran in"),
       .text =
           [this](auto& row) {
             const QString region = text(analysis::regionName(row.part.region));
             const QString part = text(analysis::partText(*store_, row.part));
             return part.isEmpty() || part == region ? region
                                                     : QStringLiteral("%1, %2").arg(region, part);
           }},
      {.head = tr("Time ms"),
       .tip =
           tr("Waits and fallbacks are measured. Work is measured by part of the run, and shared "
              "among its lines by samples: \u2248"),
       .text =
           [](auto& row) {
             return (isSampled(row) ? QStringLiteral("\u2248 ") : QString()) + timeText(row.ns);
           },
       .number = [](auto& row) { return double(row.ns); },
       .cellTip =
           [](auto& row) {
             if (!isSampled(row)) return tr("Measured");
             return (row.samples == 1 ? tr("Estimated from one sample")
                                      : tr("Estimated from %1 samples").arg(row.samples)) +
                    tr(": %1 to %2 ms, with 95 % certainty")
                        .arg(timeText(row.lowNs), timeText(row.highNs));
           },
       .exported = [](auto& row) { return toMs(row.ns); }},
      {.head = tr("Share"),
       .tip = tr("Share of the time shown, without pauses"),
       .text = [this](auto& row) { return percentText(shareOf(row)); },
       .number = [](auto& row) { return double(row.ns); }},
      {.head = tr("Seen"),
       .tip = tr("How many samples of work, or how many waits or ops on the CPU"),
       .text =
           [](auto& row) {
             const auto seen = isSampled(row) ? row.samples : row.count;
             return seen > 0 ? QString::number(seen) : kNoValue;
           },
       .number = [](auto& row) { return double(isSampled(row) ? row.samples : row.count); }},
  });
}

void HostTimeModel::refresh(std::vector<HostTimeRow> rows) {
  totalNs_ = std::accumulate(rows.begin(), rows.end(), 0.0, [](double sum, const HostTimeRow& row) {
    return sum + double(row.ns);
  });
  replaceRows(std::move(rows), [](const HostTimeRow& row) {
    std::string key = row.site.path + '\n' + std::to_string(row.site.number);
    for (const int part : {static_cast<int>(row.activity), static_cast<int>(row.part.region),
                           static_cast<int>(row.part.phase), static_cast<int>(row.part.after),
                           static_cast<int>(row.part.name)}) {
      key += '\n' + std::to_string(part);
    }
    return key;
  });
}

double HostTimeModel::shareOf(const HostTimeRow& row) const {
  return totalNs_ > 0 ? double(row.ns) / totalNs_ : 0;
}

QVariant HostTimeModel::rowData(const HostTimeRow& row, int role) const {
  switch (role) {
    case kShareRole:
      return shareOf(row);
    case kActivityRole:
      return static_cast<int>(row.activity);
    case kSiteRole:
      return row.id;
    default:
      return {};
  }
}

}  // namespace highwater::models
