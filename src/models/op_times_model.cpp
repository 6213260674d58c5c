#include "models/op_times_model.h"

#include <algorithm>

#include "core/units.h"
#include "models/column_look.h"
#include "models/op_totals_model.h"
#include "models/plain_tip.h"

namespace highwater::models {

using analysis::OpTime;
using analysis::OpTimes;

namespace {

/// The same number of decimals in every row, so that decimal points align.
QString msText(std::int64_t ns) {
  return QString::number(toMs(ns), 'f', 2);
}

/// Identifies a row: by its op, or by its module if the rows are modules.
std::string keyOfTime(const OpTime& time) {
  return time.op.empty() ? '\n' + time.module : time.op;
}

/// Outside of modules run the loss, the optimizer and the training loop itself.
QString moduleText(const std::string& path) {
  return path.empty() ? OpTimesModel::tr("outside of a module") : QString::fromStdString(path);
}

}  // namespace

bool OpTimesModel::isText(int column) {
  return column == kName || column == kWhere;
}

void OpTimesModel::refresh(const OpTimes& times) {
  times_ = times;
  take(byModule() ? times_.byModule : times_.byOp);
}

void OpTimesModel::setGrouping(Grouping grouping) {
  if (grouping != grouping_) {
    grouping_ = grouping;
    take(byModule() ? times_.byModule : times_.byOp);
    emit headerDataChanged(Qt::Horizontal, 0, kColumns - 1);
  }
}

void OpTimesModel::take(std::vector<OpTime> rows) {
  replaceRows(rows_, std::move(rows), keyOfTime);
}

int OpTimesModel::rowOf(const QString& op) const {
  const std::string name = op.toStdString();
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const OpTime& time) {
    return !time.op.empty() && time.op == name;
  });
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

int OpTimesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int OpTimesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

double OpTimesModel::shareOf(const OpTime& time) const {
  return times_.selfNs > 0 ? static_cast<double>(time.selfNs) / static_cast<double>(times_.selfNs)
                           : 0;
}

QVariant OpTimesModel::text(const OpTime& time, int column) const {
  switch (column) {
    case kName:
      return byModule() ? moduleText(time.module) : shortOpName(time.op);
    case kCount:
      return QString::number(time.count);
    case kPerStep:
      return times_.steps > 0 ? QString::number(static_cast<double>(time.inSteps) /
                                                    static_cast<double>(times_.steps),
                                                'f', 1)
                              : tr("–");
    case kTotalMs:
      return byModule() ? tr("–") : msText(time.totalNs);
    case kSelfMs:
      return msText(time.selfNs);
    case kShare: {
      const double percent = shareOf(time) * 100;
      return tr("%1 %").arg(percent, 0, 'f', percent > 0 && percent < 1 ? 1 : 0);
    }
    case kGrown:
      return time.mostGrownBytes > 0 ? QString::fromStdString(formatBytes(time.mostGrownBytes))
                                     : tr("–");
    case kWhere:
      return byModule() ? QString() : moduleText(time.module);
    default:
      return {};
  }
}

QVariant OpTimesModel::sortKey(const OpTime& time, int column) const {
  switch (column) {
    case kCount:
      return qulonglong(time.count);
    case kPerStep:
      return qulonglong(time.inSteps);
    case kTotalMs:
      return qlonglong(time.totalNs);
    case kSelfMs:
    case kShare:
      return qlonglong(time.selfNs);
    case kGrown:
      return qulonglong(time.mostGrownBytes);
    default:
      return text(time, column);
  }
}

QVariant OpTimesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const OpTime& time = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return text(time, index.column());
    case Qt::TextAlignmentRole:
      return columnAlignment(isText(index.column()));
    case Qt::ToolTipRole:
      if (index.column() == kName) {
        return plainTip(byModule() ? moduleText(time.module) : QString::fromStdString(time.op));
      }
      return index.column() == kWhere ? plainTip(moduleText(time.module)) : QVariant();
    case OpTotalsModel::kOpNameRole:
      return QString::fromStdString(time.op);
    case OpTotalsModel::kExportRole:
      return index.column() == kName && !byModule() ? QVariant(QString::fromStdString(time.op))
             : index.column() == kGrown             ? QVariant(qulonglong(time.mostGrownBytes))
                                                    : QVariant();
    case kModuleRole:
      return QString::fromStdString(time.module);
    case OpTotalsModel::kShareRole:
      return shareOf(time);
    case OpTotalsModel::kSortRole:
      return sortKey(time, index.column());
    default:
      return {};
  }
}

QVariant OpTimesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  struct Head {
    QString text, tip;
  };
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) {
    return {};
  }
  if (const QVariant look = columnHeader(isText(section), role); look.isValid()) {
    return look;
  }
  const Head heads[kColumns] = {
      {byModule() ? tr("Module") : tr("Op"), {}},
      {byModule() ? tr("Ops") : tr("Calls"), {}},
      {tr("A step"), tr("Calls per step whose ops were recorded, without evaluations")},
      {tr("Total ms"), tr("Host time, including nested ops")},
      {tr("Self ms"), tr("Host time without nested ops")},
      {tr("Share of self"), tr("Share of the self time of all ops shown")},
      {tr("Allocated"), tr("Largest growth of current allocated by one call")},
      {byModule() ? QString() : tr("Most in"), tr("The module with most of the self time")}};
  return role == Qt::DisplayRole   ? QVariant(heads[section].text)
         : role == Qt::ToolTipRole ? QVariant(heads[section].tip)
                                   : QVariant();
}

}  // namespace highwater::models
