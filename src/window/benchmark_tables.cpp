#include "window/benchmark_tables.h"

#include <cmath>

#include "models/qt_text.h"
#include "report/report_benchmark.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

/// Replaces the content of a table: texts at the left, then numbers at the right.
void fill(QStandardItemModel& table, const QStringList& head, const std::vector<QStringList>& rows,
          int texts) {
  table.clear();
  table.setHorizontalHeaderLabels(head);
  for (int column = 0; column < head.size(); ++column) {
    const auto side = column < texts ? Qt::AlignLeft : Qt::AlignRight;
    table.setHeaderData(column, Qt::Horizontal, QVariant(side | Qt::AlignVCenter),
                        Qt::TextAlignmentRole);
  }
  for (const QStringList& row : rows) {
    QList<QStandardItem*> items;
    for (const QString& cell : row) {
      auto* item = new QStandardItem(cell);
      item->setEditable(false);
      const auto side = items.size() < texts ? Qt::AlignLeft : Qt::AlignRight;
      item->setTextAlignment(side | Qt::AlignVCenter);
      items << item;
    }
    table.appendRow(items);
  }
}

/// A multiple of what rounding explains; a dash where it explains nothing.
QString timesText(double times) {
  if (std::isinf(times)) return QStringLiteral("–");
  return times == 0 ? QStringLiteral("0") : QString::number(times, 'f', times < 100 ? 1 : 0);
}

}  // namespace

void fillTimes(QStandardItemModel& table, const tuning::Benchmark& benchmark) {
  std::vector<QStringList> rows;
  const auto time = [](double ms) { return text(report::shortTime(ms)); };
  for (const tuning::BenchmarkTiming& timing : benchmark.timings) {
    const auto add = [&](const QString& device, const std::string& type,
                         const tuning::BenchmarkSide& side) {
      const tuning::Spread honest = tuning::honestMs(side, timing.calls);
      const bool isStep = timing.what == tuning::BenchmarkTiming::What::kStep;
      const QString what = isStep ? tr("training step") : text(matmulText(timing.shape));
      rows.push_back({what + QStringLiteral(", ") + text(type), device, time(honest.median),
                      QStringLiteral("%1 – %2").arg(time(honest.lower), time(honest.upper)),
                      time(side.firstMs)});
    };
    add(tr("CPU"), timing.cpuType, timing.cpu);
    add(text(benchmark.deviceName()), timing.mpsType, timing.mps);
  }
  fill(table, {tr("case"), tr("device"), tr("median"), tr("quartiles"), tr("first call")}, rows, 2);
}

void fillModules(QStandardItemModel& table, const tuning::Benchmark& benchmark) {
  std::vector<QStringList> rows;
  if (benchmark.drift) {
    const auto error = [](const tuning::ErrorSize* size, double tuning::ErrorSize::*member) {
      return size ? text(report::shortError(size->*member)) : QString();
    };
    for (const report::ModuleRow& row : report::moduleRows(*benchmark.drift)) {
      rows.push_back({row.module.empty() ? tr("(model)") : text(row.module),
                      error(row.output, &tuning::ErrorSize::maxAbs),
                      error(row.output, &tuning::ErrorSize::maxRel),
                      error(row.gradient, &tuning::ErrorSize::maxAbs),
                      error(row.gradient, &tuning::ErrorSize::maxRel),
                      timesText(row.timesRounding)});
    }
  }
  fill(table,
       {tr("module"), tr("output"), tr("relative"), tr("gradient"), tr("relative"),
        tr("× rounding")},
       rows, 1);
}

}  // namespace highwater::window
