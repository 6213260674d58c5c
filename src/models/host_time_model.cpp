#include "models/host_time_model.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "analysis/account/host_lines.h"
#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::Activity;
using analysis::HostTimeRow;

namespace {

bool isSampled(const HostTimeRow& row) {
  return row.samples > 0;
}

bool isHighwaters(const HostTimeRow& row) {
  return row.site.line.empty() && row.site.library == analysis::kHighwaters;
}

QString activityText(const HostTimeRow& row) {
  switch (row.activity) {
    case Activity::Work:
      return HostTimeModel::tr("works");
    case Activity::Wait:
      return HostTimeModel::tr("waits");
    case Activity::Fallback:
      return HostTimeModel::tr("CPU ops");
    case Activity::LoaderStart:
      return HostTimeModel::tr("starts workers");
  }
  return {};
}

/// What the host ran at the line: the library's line that it called, or else the line itself.
QString lineText(const HostTimeRow& row) {
  if (isHighwaters(row)) return HostTimeModel::tr("Highwater's own code");
  if (row.site.line.empty()) return kNoValue;
  const std::string& called = row.site.library.empty() ? row.site.text : row.site.library;
  return called.empty() ? text(row.site.line)
                        : QStringLiteral("%1, %2").arg(text(row.site.line), text(called));
}

QString lineTip(const HostTimeRow& row) {
  if (isHighwaters(row)) {
    return HostTimeModel::tr("Its hooks run in your script, most of it in the first steps");
  }
  if (!row.site.line.empty()) {
    QStringList lines{text(row.site.path) + QLatin1Char(':') + QString::number(row.site.number)};
    if (!row.site.text.empty()) lines << text(row.site.text);
    if (!row.site.library.empty()) lines << text(row.site.library);
    return lines.join(QLatin1Char('\n'));
  }
  if (row.activity == Activity::Work) {
    return HostTimeModel::tr("No host sample fell into it, or none of your lines was running");
  }
  return row.part.phase == events::Phase::Backward
             ? HostTimeModel::tr("On a thread of backward, where no line of yours runs")
             : HostTimeModel::tr("Its line is not known");
}

}  // namespace

HostTimeModel::HostTimeModel(const analysis::LiveStore* store, QObject* parent)
    : ColumnModel(parent), store_(store) {
  describeColumns();
}

void HostTimeModel::describeColumns() {
  setColumns(Columns{
      {.head = tr("Host"),
       .tip = tr("What the host does there: works, waits for the device, runs ops on the CPU that "
                 "the device lacks, or starts the workers of a DataLoader"),
       .text = activityText},
      {.head = tr("Line"), .text = lineText, .cellTip = lineTip},
      {.head = tr("In"),
       .tip = tr("The part of a step, or what comes between steps"),
       .text =
           [this](auto& row) {
             const QString part = text(analysis::partText(*store_, row.part));
             if (row.part.region == analysis::Region::Step && !part.isEmpty()) return part;
             const QString region = text(analysis::regionName(row.part.region));
             return part.isEmpty() || part == region ? region
                                                     : QStringLiteral("%1, %2").arg(region, part);
           }},
      {.head = steps_ > 0 ? tr("ms a step") : tr("Time ms"),
       .tip =
           tr("Waits and fallbacks are measured. Work is measured by part of the run, and shared "
              "among its lines by samples: \u2248"),
       .text =
           [this](auto& row) {
             return (isSampled(row) ? QStringLiteral("\u2248 ") : QString()) + timeText(row.ns);
           },
       .number = [](auto& row) { return double(row.ns); },
       .cellTip =
           [this](auto& row) {
             if (!isSampled(row)) return tr("Measured");
             return (row.samples == 1 ? tr("Estimated from one sample")
                                      : tr("Estimated from %1 samples").arg(row.samples)) +
                    tr(": %1 to %2 ms, with 95 % certainty")
                        .arg(timeText(row.lowNs), timeText(row.highNs));
           },
       .exported =
           [this](auto& row) {
             return toMs(row.ns) / static_cast<double>(std::max<std::size_t>(steps_, 1));
           }},
      {.head = tr("Share"),
       .tip = tr("Share of the time from the first step to the last, or of the whole steps in the "
                 "selection, without pauses; while a script runs, of its newest 1,000 steps"),
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

void HostTimeModel::refresh(std::vector<HostTimeRow> rows, std::size_t steps) {
  const bool heads = (steps > 0) != (steps_ > 0);
  steps_ = steps;
  if (heads) {
    describeColumns();
    emit headerDataChanged(Qt::Horizontal, kMs, kMs);
  }
  totalNs_ = std::accumulate(rows.begin(), rows.end(), 0.0, [](double sum, const HostTimeRow& row) {
    return sum + double(row.ns);
  });
  replaceRows(std::move(rows), [](const HostTimeRow& row) {
    std::string key =
        row.site.path + '\n' + std::to_string(row.site.number) + (isHighwaters(row) ? "h" : "");
    for (const int part : {static_cast<int>(row.planned), static_cast<int>(row.activity),
                           static_cast<int>(row.part.region), static_cast<int>(row.part.phase),
                           static_cast<int>(row.part.after), static_cast<int>(row.part.name)}) {
      key += '\n' + std::to_string(part);
    }
    return key;
  });
}

QString HostTimeModel::timeText(std::int64_t ns) const {
  const double ms = toMs(ns) / static_cast<double>(std::max<std::size_t>(steps_, 1));
  return QString::number(ms, 'f', ms < 10 ? 2 : 1);
}

double HostTimeModel::shareOf(const HostTimeRow& row) const {
  return totalNs_ > 0 ? double(row.ns) / totalNs_ : 0;
}

QVariant HostTimeModel::rowData(const HostTimeRow& row, int role) const {
  switch (role) {
    case kShareRole:
      return shareOf(row);
    case kDeliberateRole:
      return row.planned;
    case kActivityRole:
      return static_cast<int>(row.activity);
    case kSiteRole:
      return row.id;
    default:
      return {};
  }
}

}  // namespace highwater::models
