#include "models/compare_model.h"

#include <algorithm>
#include <cmath>

#include "analysis/op_label.h"
#include "core/names.h"
#include "models/column_look.h"
#include "models/op_totals_model.h"
#include "models/plain_tip.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::ComparedOp;

namespace {

std::string keyOfCompared(const ComparedOp& op) {
  return op.op + '\n' + op.where + '\n' + std::to_string(static_cast<int>(op.kind));
}

QString msText(double ms) {
  return QString::number(ms, 'f', 1);
}

}  // namespace

bool CompareModel::isText(int column) {
  return column == kOp || column == kWhere;
}

void CompareModel::refresh(const std::vector<ComparedOp>& ops) {
  most_ = 0;
  for (const ComparedOp& op : ops) {
    most_ = std::max(most_, std::abs(op.ms.change()));
    if (!std::isnan(op.ms.noise)) most_ = std::max(most_, op.ms.noise);
  }
  replaceRows(ops_, ops, keyOfCompared);
}

int CompareModel::rowOf(const QString& op, const QString& where, events::SyncKind kind) const {
  const std::string name = op.toStdString(), place = where.toStdString();
  const auto found = std::find_if(ops_.begin(), ops_.end(), [&](const ComparedOp& each) {
    return each.op == name && each.where == place && each.kind == kind;
  });
  return found == ops_.end() ? -1 : static_cast<int>(found - ops_.begin());
}

int CompareModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(ops_.size());
}

int CompareModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant CompareModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const ComparedOp& op = ops_[static_cast<std::size_t>(index.row())];
  const QString name = shortOpName(analysis::opLabel(op.op, op.kind));
  const QString where = QString::fromStdString(op.where);
  switch (role) {
    case Qt::DisplayRole:
      switch (index.column()) {
        case kOp:
          return name;
        case kWhere:
          return where;
        case kA:
          return msText(op.ms.a);
        case kB:
          return msText(op.ms.b);
        case kChange:
          return signedText(op.ms.change(), msText(std::abs(op.ms.change())));
        default:
          return std::isnan(op.ms.noise) ? tr("–") : QStringLiteral("± ") + msText(op.ms.noise);
      }
    case Qt::TextAlignmentRole:
      return columnAlignment(isText(index.column()));
    case Qt::ToolTipRole:
      return index.column() == kOp      ? plainTip(QString::fromStdString(op.op))
             : index.column() == kWhere ? plainTip(where)
                                        : QVariant();
    case OpTotalsModel::kOpNameRole:
      return QString::fromStdString(op.op);
    case OpTotalsModel::kDeliberateRole:
      return op.planned;
    case OpTotalsModel::kKindRole:
      return static_cast<int>(op.kind);
    case OpTotalsModel::kShareRole:
      return most_ > 0 ? op.ms.change() / most_ : 0;
    case kNoiseRole:
      return most_ > 0 ? op.ms.noise / most_ : 0;
    case kBeyondRole:
      return op.ms.beyondNoise();
    case OpTotalsModel::kSortRole:
      switch (index.column()) {
        case kA:
          return op.ms.a;
        case kB:
          return op.ms.b;
        case kChange:  // the largest change first, whether more or less
          return std::abs(op.ms.change());
        case kNoise:
          return std::isnan(op.ms.noise) ? -1 : op.ms.noise;
        default:
          return index.column() == kOp ? name : where;
      }
    default:
      return {};
  }
}

QVariant CompareModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) {
    return {};
  }
  // Right of the noise the cells have a bar.
  if (role == Qt::TextAlignmentRole && section == kNoise) return columnAlignment(true);
  if (const QVariant look = columnHeader(isText(section), role); look.isValid()) {
    return look;
  }
  if (role == Qt::ToolTipRole && !isText(section)) {
    return section == kNoise
               ? tr("95 % of the changes that chance makes lie within this, in ms a step")
               : tr("Mean of the whole steps, in ms a step");
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kOp:
      return tr("Op");
    case kWhere:
      return tr("Where");
    case kA:
      return tr("A ms");
    case kB:
      return tr("B ms");
    case kChange:
      return tr("Change");
    default:
      return tr("Noise, ±");
  }
}

}  // namespace highwater::models
