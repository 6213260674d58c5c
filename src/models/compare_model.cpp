#include "models/compare_model.h"

#include <algorithm>
#include <cmath>

#include "analysis/op_label.h"
#include "core/names.h"
#include "models/op_totals_model.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::ComparedOp;

namespace {

QString msText(double ms) {
  return QString::number(ms, 'f', 1);
}

}  // namespace

CompareModel::CompareModel(QObject* parent) : ColumnModel(parent) {
  const auto where = [](const ComparedOp& op) { return text(op.where); };
  const QString mean = tr("Mean of the whole steps, in ms a step");
  setColumns(Columns{
      {.head = tr("Op"),
       .text = [](auto& op) { return shortOpName(analysis::opLabel(op.op, op.kind)); },
       .cellTip = [](auto& op) { return text(op.op); }},
      {.head = tr("Where"), .text = where, .cellTip = where},
      {.head = tr("A ms"),
       .tip = mean,
       .text = [](auto& op) { return msText(op.ms.a); },
       .number = [](auto& op) { return op.ms.a; }},
      {.head = tr("B ms"),
       .tip = mean,
       .text = [](auto& op) { return msText(op.ms.b); },
       .number = [](auto& op) { return op.ms.b; }},
      {.head = tr("Change"),
       .tip = mean,
       .text =
           [](auto& op) { return signedText(op.ms.change(), msText(std::abs(op.ms.change()))); },
       // The largest change first, whether more or less.
       .number = [](auto& op) { return std::abs(op.ms.change()); }},
      {.head = tr("Noise, ±"),
       .tip = tr("95 % of the changes that chance makes lie within this, in ms a step"),
       .text =
           [](auto& op) {
             return std::isnan(op.ms.noise) ? kNoValue : QStringLiteral("± ") + msText(op.ms.noise);
           },
       .number = [](auto& op) { return std::isnan(op.ms.noise) ? -1 : op.ms.noise; }},
  });
}

void CompareModel::refresh(const std::vector<ComparedOp>& ops) {
  most_ = 0;
  for (const ComparedOp& op : ops) {
    most_ = std::max(most_, std::abs(op.ms.change()));
    if (!std::isnan(op.ms.noise)) most_ = std::max(most_, op.ms.noise);
  }
  replaceRows(ops, [](const ComparedOp& op) {
    return op.op + '\n' + op.where + '\n' + std::to_string(static_cast<int>(op.kind));
  });
}

int CompareModel::rowOf(const QString& op, const QString& where, events::SyncKind kind) const {
  const std::string name = op.toStdString(), place = where.toStdString();
  return firstRow([&](const ComparedOp& each) {
    return each.op == name && each.where == place && each.kind == kind;
  });
}

QVariant CompareModel::rowData(const ComparedOp& op, int role) const {
  switch (role) {
    case kOpNameRole:
      return text(op.op);
    case kDeliberateRole:
      return op.planned;
    case kKindRole:
      return static_cast<int>(op.kind);
    case kShareRole:
      return most_ > 0 ? op.ms.change() / most_ : 0;
    case kNoiseRole:
      return most_ > 0 ? op.ms.noise / most_ : 0;
    case kBeyondRole:
      return op.ms.beyondNoise();
    default:
      return {};
  }
}

QVariant CompareModel::headerData(int section, Qt::Orientation orientation, int role) const {
  // Right of the noise the cells have a bar.
  const bool isNoise = section == kNoise && orientation == Qt::Horizontal;
  if (isNoise && role == Qt::TextAlignmentRole) return columnAlignment(true);
  return ColumnModel::headerData(section, orientation, role);
}

}  // namespace highwater::models
