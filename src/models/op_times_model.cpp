#include "models/op_times_model.h"

#include "core/units.h"
#include "models/op_totals_model.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::OpTime;
using analysis::OpTimes;

namespace {

/// The same number of decimals in every row, so that decimal points align.
QString msText(std::int64_t ns) {
  return QString::number(toMs(ns), 'f', 2);
}

/// Outside of modules run the loss, the optimizer and the training loop itself.
QString moduleText(const OpTime& time) {
  return time.module.empty() ? OpTimesModel::tr("outside of a module") : text(time.module);
}

}  // namespace

OpTimesModel::OpTimesModel(QObject* parent) : ColumnModel(parent) {
  describeColumns();
}

void OpTimesModel::describeColumns() {
  const bool modules = byModule();
  const auto selfNs = [](const OpTime& time) { return double(time.selfNs); };
  setColumns(Columns{
      {.head = modules ? tr("Module") : tr("Op"),
       .text = [=](auto& time) { return modules ? moduleText(time) : shortOpName(time.op); },
       .cellTip = [=](auto& time) { return modules ? moduleText(time) : text(time.op); },
       .exported = [=](auto& time) { return modules ? QVariant() : text(time.op); }},
      {.head = modules ? tr("Ops") : tr("Calls"),
       .text = [](auto& time) { return QString::number(time.count); },
       .number = [](auto& time) { return double(time.count); }},
      {.head = tr("A step"),
       .tip = tr("Calls per step whose ops were recorded, without evaluations"),
       .text =
           [this](auto& time) {
             const double perStep = double(time.inSteps) / double(times_.steps);
             return times_.steps > 0 ? QString::number(perStep, 'f', 1) : kNoValue;
           },
       .number = [](auto& time) { return double(time.inSteps); }},
      {.head = tr("Total ms"),
       .tip = tr("Host time, including nested ops"),
       .text = [=](auto& time) { return modules ? kNoValue : msText(time.totalNs); },
       .number = [](auto& time) { return double(time.totalNs); }},
      {.head = tr("Self ms"),
       .tip = tr("Host time without nested ops"),
       .text = [](auto& time) { return msText(time.selfNs); },
       .number = selfNs},
      {.head = tr("Share of self"),
       .tip = tr("Share of the self time of all ops shown"),
       .text = [this](auto& time) { return percentText(shareOf(time)); },
       .number = selfNs},
      {.head = tr("Allocated"),
       .tip = tr("Largest growth of current allocated by one call"),
       .text =
           [](auto& time) {
             return time.mostGrownBytes > 0 ? text(formatBytes(time.mostGrownBytes)) : kNoValue;
           },
       .number = [](auto& time) { return double(time.mostGrownBytes); },
       .exported = [](auto& time) { return qulonglong(time.mostGrownBytes); }},
      {.head = modules ? QString() : tr("Most in"),
       .tip = tr("The module with most of the self time"),
       .text = [=](auto& time) { return modules ? QString() : moduleText(time); },
       .cellTip = moduleText},
  });
}

void OpTimesModel::refresh(const OpTimes& times) {
  times_ = times;
  take();
}

void OpTimesModel::setGrouping(Grouping grouping) {
  if (grouping == grouping_) return;
  grouping_ = grouping;
  describeColumns();
  take();
  emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

void OpTimesModel::take() {
  replaceRows(byModule() ? times_.byModule : times_.byOp,
              [](const OpTime& time) { return time.op.empty() ? '\n' + time.module : time.op; });
}

int OpTimesModel::rowOf(const QString& op) const {
  const std::string name = op.toStdString();
  return firstRow([&](const OpTime& time) { return !time.op.empty() && time.op == name; });
}

double OpTimesModel::shareOf(const OpTime& time) const {
  return times_.selfNs > 0 ? double(time.selfNs) / double(times_.selfNs) : 0;
}

QVariant OpTimesModel::rowData(const OpTime& time, int role) const {
  switch (role) {
    case kOpNameRole:
      return text(time.op);
    case kModuleRole:
      return text(time.module);
    case kShareRole:
      return shareOf(time);
    default:
      return {};
  }
}

}  // namespace highwater::models
