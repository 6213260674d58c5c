#include "models/op_totals_model.h"

#include <algorithm>

#include "analysis/op_label.h"
#include "core/names.h"
#include "core/units.h"
#include "models/column_look.h"
#include "models/plain_tip.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::OpTotal;

namespace {

/// Identifies a row: by its op, its place and its kind of wait.
std::string keyOfTotal(const OpTotal& total) {
  return total.op + '\n' + total.where + '\n' + std::to_string(static_cast<int>(total.kind));
}

}  // namespace

bool OpTotalsModel::isText(int column) {
  return column == kOp || column == kWhere;
}

QString shortOpName(const std::string& op) {
  const QString name = QString::fromStdString(op);
  const QLatin1String node("autograd::engine::evaluate_function: ");
  if (name.startsWith(node)) {
    return name.mid(node.size());
  }
  return name.startsWith(QLatin1String("aten::")) ? name.mid(6) : name;
}

void OpTotalsModel::refresh(const std::vector<OpTotal>& totals, double stepsMs) {
  stepsMs_ = stepsMs;
  replaceRows(totals_, totals, keyOfTotal);
}

void OpTotalsModel::setAccepted(std::set<std::string> ops) {
  if (ops == accepted_) {
    return;
  }
  accepted_ = std::move(ops);
  if (!totals_.empty()) {
    emit dataChanged(index(0, kOp), index(rowCount() - 1, kOp));
  }
}

int OpTotalsModel::rowOf(const QString& op, const QString& where, events::SyncKind kind) const {
  const std::string name = op.toStdString(), place = where.toStdString();
  const auto found = std::find_if(totals_.begin(), totals_.end(), [&](const OpTotal& total) {
    return total.op == name && total.where == place && total.kind == kind;
  });
  return found == totals_.end() ? -1 : static_cast<int>(found - totals_.begin());
}

int OpTotalsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(totals_.size());
}

int OpTotalsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

double OpTotalsModel::shareOf(const OpTotal& total) const {
  return stepsMs_ > 0 ? toMs(total.inStepsNs) / stepsMs_ : 0;
}

QVariant OpTotalsModel::text(const OpTotal& total, int column) const {
  switch (column) {
    case kOp:
      return shortOpName(analysis::opLabel(total.op, total.kind));
    case kCount:
      return QString::number(total.count);
    case kTotalMs:
      return QString::number(toMs(total.totalNs), 'f', 1);
    case kShare:
      return total.inStepsNs > 0 || total.totalNs == 0 ? percentText(shareOf(total)) : tr("–");
    case kBytes:
      return QString::fromStdString(formatBytes(total.bytes));
    case kWhere:
      return QString::fromStdString(total.where);
    default:
      return {};
  }
}

QVariant OpTotalsModel::sortKey(const OpTotal& total, int column) const {
  switch (column) {
    case kCount:
      return qulonglong(total.count);
    case kTotalMs:
      return qlonglong(total.totalNs);
    case kShare:
      return qlonglong(total.inStepsNs);
    case kBytes:
      return qulonglong(total.bytes);
    default:
      return text(total, column);
  }
}

QVariant OpTotalsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const OpTotal& total = totals_[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
      return text(total, column);
    case Qt::TextAlignmentRole:
      return columnAlignment(isText(column));
    case Qt::ToolTipRole:
      if (column == kOp) {
        const QString op = QString::fromStdString(analysis::opLabel(total.op, total.kind));
        return total.kind == events::SyncKind::None
                   ? plainTip(op)
                   : plainTip(tr("%1: %2, %3")
                                  .arg(op, QString::fromUtf8(syncKindName(total.kind).data()),
                                       total.deliberate ? tr("planned") : tr("unplanned")));
      }
      return column == kWhere ? plainTip(text(total, column).toString()) : QVariant();
    case kOpNameRole:
      return QString::fromStdString(total.op);
    case kShareRole:
      return shareOf(total);
    case kDeliberateRole:
      return total.deliberate;
    case kAcceptedRole:
      return accepted_.contains(total.op);
    case kSiteRole:
      return total.site;
    case kKindRole:
      return static_cast<int>(total.kind);
    case kExportRole:
      return column == kOp      ? QVariant(QString::fromStdString(total.op))
             : column == kBytes ? QVariant(qulonglong(total.bytes))
                                : QVariant();
    case kSortRole:
      return sortKey(total, column);
    default:
      return {};
  }
}

QVariant OpTotalsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) {
    return {};
  }
  if (const QVariant look = columnHeader(isText(section), role); look.isValid()) {
    return look;
  }
  if (role == Qt::ToolTipRole) {
    return section == kTotalMs ? timeToolTip()
           : section == kShare
               ? tr("Share of the time of the steps shown; waits outside of steps have none")
           : section == kBytes ? tr("Bytes copied to the CPU and back")
                               : QVariant();
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kOp:
      return tr("Op");
    case kCount:
      return tr("Count");
    case kTotalMs:
      return timeHeader();
    case kShare:
      return tr("Share");
    case kBytes:
      return tr("Bytes");
    default:
      return tr("Where");
  }
}

}  // namespace highwater::models
