#include "models/op_totals_model.h"

#include "analysis/op_label.h"
#include "core/names.h"
#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::models {

using analysis::OpTotal;

QString shortOpName(const std::string& op) {
  const QString name = QString::fromStdString(op);
  const QLatin1String node("autograd::engine::evaluate_function: ");
  if (name.startsWith(node)) {
    return name.mid(node.size());
  }
  return text(analysis::shortOp(op));
}

OpTotalsModel::OpTotalsModel(const QString& time, const QString& timeTip, bool hasBytes,
                             QObject* parent)
    : ColumnModel(parent) {
  const auto where = [](const OpTotal& total) { return text(total.where); };
  Columns columns{
      {.head = tr("Op"),
       .text = [](auto& total) { return shortOpName(analysis::opLabel(total.op, total.kind)); },
       .cellTip =
           [](auto& total) {
             const QString op = text(analysis::opLabel(total.op, total.kind));
             if (total.kind == events::SyncKind::None) return op;
             return tr("%1: %2, %3")
                 .arg(op, text(syncKindName(total.kind)),
                      total.deliberate ? tr("planned") : tr("unplanned"));
           },
       .exported = [](auto& total) { return text(total.op); }},
      {.head = tr("Where"), .text = where, .cellTip = where},
      {.head = tr("Count"),
       .tip = tr("In all of the time shown, the warm-up step included, which findings leave out"),
       .text = [](auto& total) { return QString::number(total.count); },
       .number = [](auto& total) { return double(total.count); }},
      {.head = time,
       .tip = timeTip,
       .text = [](auto& total) { return QString::number(toMs(total.totalNs), 'f', 1); },
       .number = [](auto& total) { return double(total.totalNs); }},
      {.head = tr("Share"),
       .tip = tr("Share of the time of the steps shown; waits outside of steps have none"),
       .text =
           [this](auto& total) {
             const bool outside = total.inStepsNs <= 0 && total.totalNs != 0;
             return outside ? kNoValue : percentText(shareOf(total));
           },
       .number = [](auto& total) { return double(total.inStepsNs); }},
  };
  if (hasBytes) {
    columns.push_back({.head = tr("Bytes"),
                       .tip = tr("Bytes copied to the CPU and back"),
                       .text = [](auto& total) { return text(formatBytes(total.bytes)); },
                       .number = [](auto& total) { return double(total.bytes); },
                       .exported = [](auto& total) { return qulonglong(total.bytes); }});
  }
  setColumns(std::move(columns));
}

void OpTotalsModel::refresh(const std::vector<OpTotal>& totals, double stepsMs) {
  stepsMs_ = stepsMs;
  replaceRows(totals, [](const OpTotal& total) {
    return total.op + '\n' + total.where + '\n' + std::to_string(static_cast<int>(total.kind)) +
           (total.deliberate ? "p" : "");
  });
}

void OpTotalsModel::setAccepted(std::set<std::string> ops) {
  if (ops == accepted_) {
    return;
  }
  accepted_ = std::move(ops);
  if (rowCount() > 0) {
    emit dataChanged(index(0, kOp), index(rowCount() - 1, kOp));
  }
}

int OpTotalsModel::rowOf(const QString& op, const QString& where, events::SyncKind kind,
                         std::optional<bool> planned) const {
  const std::string name = op.toStdString(), place = where.toStdString();
  return firstRow([&](const OpTotal& total) {
    return total.op == name && total.where == place && total.kind == kind &&
           planned.value_or(total.deliberate) == total.deliberate;
  });
}

double OpTotalsModel::shareOf(const OpTotal& total) const {
  return stepsMs_ > 0 ? toMs(total.inStepsNs) / stepsMs_ : 0;
}

QVariant OpTotalsModel::rowData(const OpTotal& total, int role) const {
  switch (role) {
    case kOpNameRole:
      return text(total.op);
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
    default:
      return {};
  }
}

}  // namespace highwater::models
