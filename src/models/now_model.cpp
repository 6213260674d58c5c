#include "models/now_model.h"

#include <cmath>

#include "analysis/run_summary.h"
#include "analysis/settings_change.h"
#include "core/names.h"
#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::models {

NowModel::NowModel(const analysis::LiveStore* store, QObject* parent)
    : ValueRows(parent), store_(store) {
  refresh();
}

void NowModel::setShort(bool on) {
  short_ = on;
  refresh();
}

void NowModel::refresh() {
  std::vector<Row> rows;
  addMemory(rows);
  addGpu(rows);
  addSystem(rows);
  addSteps(rows);
  setRows(std::move(rows));
}

void NowModel::addMemory(std::vector<Row>& rows) const {
  const auto& memory = store_->memory();
  Row current{tr("Current allocated"), kNoValue, tr("Memory of live tensors")};
  Row driver{tr("Driver allocated"), kNoValue,
             tr("Memory that the Metal driver holds, including caches")};
  Row recommended{tr("Recommended max"), kNoValue,
                  tr("The working set that the device recommends")};
  Row share{tr("Of recommended"), kNoValue,
            tr("Driver allocated as a share of the recommended max")};
  if (!memory.timesNs.empty()) {
    const std::size_t last = memory.timesNs.size() - 1;
    current.value = bytesText(memory.current[last]);
    driver.value = bytesText(memory.driver[last]);
    if (memory.recommended[last] > 0) {
      recommended.value = bytesText(memory.recommended[last]);
      const double percent = 100 * memory.driver[last] / memory.recommended[last];
      share.value = tr("%1 %").arg(percent, 0, 'f', percent < 10 ? 1 : 0);
    }
  }
  if (!store_->hasMemoryCounters()) {
    for (Row* row : {&current, &driver, &recommended, &share}) {
      row->tip = tr("The CPU has no memory counters");
    }
  }
  rows.push_back(current);
  rows.push_back(driver);
  if (!short_) {
    rows.push_back(recommended);
  }
  rows.push_back(share);
}

/// No row if it is unknown: only macOS reports it.
void NowModel::addGpu(std::vector<Row>& rows) const {
  const auto& gpu = store_->system().gpuPercent;
  if (gpu.empty() || std::isnan(gpu[gpu.size() - 1])) return;
  rows.push_back({tr("GPU utilization"), tr("%1 %").arg(gpu[gpu.size() - 1], 0, 'f', 0),
                  tr("Of all processes, as the driver reports it")});
}

/// Only rows that are known and not at their normal value.
void NowModel::addSystem(std::vector<Row>& rows) const {
  const auto& system = store_->system();
  if (system.timesNs.empty()) return;
  const std::size_t last = system.timesNs.size() - 1;
  const events::Pressure pressure = system.pressure[last];
  if (pressure == events::Pressure::Warning || pressure == events::Pressure::Critical) {
    const std::string_view word = pressureName(pressure);
    rows.push_back({tr("Memory pressure"), text(word),
                    tr("Of the whole system, including other applications")});
  }
  if (system.swapUsed[last] > 0) {
    rows.push_back({tr("Swap used"), bytesText(system.swapUsed[last]), tr("Of the whole system")});
  }
  addMachine(rows);
}

void NowModel::addMachine(std::vector<Row>& rows) const {
  const auto& machine = store_->machine();
  if (machine.timesNs.empty()) return;
  const std::size_t last = machine.timesNs.size() - 1;
  if (machine.swapRate[last] > 0) {
    rows.push_back({tr("Swapping"), tr("%1/s").arg(bytesText(machine.swapRate[last])),
                    tr("To and from swap, of the whole system, over the last second")});
  }
  const events::ThermalState state = machine.thermal[last];
  if (state > events::ThermalState::Nominal) {
    const std::string_view word = thermalStateName(state);
    rows.push_back({tr("Thermal state"), text(word),
                    state >= events::ThermalState::Serious
                        ? tr("The machine is hot: the system slows processors and GPU down")
                        : tr("The machine is warmer than usual, and not slowed down yet")});
  }
  if (machine.power[last] == events::PowerMode::Low) {
    rows.push_back({tr("Low Power Mode"), tr("on"),
                    tr("The system slows processors and GPU down to save energy")});
  }
}

void NowModel::addSteps(std::vector<Row>& rows) const {
  const auto& records = store_->steps().records;
  Row peak{tr("Last current peak"), kNoValue, {}};
  Row scope{tr("Of steps"), kNoValue,
            tr("Step time and throughput are those of the newest steps, at most %1, and of none "
               "from before the last change of a setting")
                .arg(kRecentSteps)};
  Row time{tr("Step time p50 / p95"), kNoValue, scope.tip};
  Row rate{tr("Throughput, mean"), kNoValue, scope.tip};
  Row loss{tr("Loss"), kNoValue, tr("Last value read")};
  Row accuracy{tr("Held-out accuracy"), kNoValue, tr("Of the last evaluation")};
  if (!records.empty()) {
    const auto& last = records.back();
    if (store_->hasMemoryCounters()) {
      const bool exact = last.peak_current_exact() != 0;
      peak.value = bytesText(static_cast<double>(last.peak_current_bytes())) + QLatin1Char(' ') +
                   (exact ? tr("exact") : tr("sampled"));
      peak.tip = exact ? tr("The allocator's own peak of current allocated, in the newest step")
                       : tr("The largest sample of current allocated, in the newest step");
    }
    const analysis::RecentSteps steps = analysis::recentSteps(*store_, kRecentSteps);
    if (!steps.since.empty()) {
      scope.name = tr("Since %1").arg(QString::fromStdString(steps.since));
    }
    if (steps.count > 0) {
      const events::StepRecord& first = records[steps.firstRow];
      const auto recent = analysis::summarize(
          *store_, analysis::TimeRange{first.begin_ns(), last.begin_ns() + last.duration_ns()});
      scope.value = steps.count == 1 ? tr("step %1").arg(last.step())
                                     : tr("%1–%2").arg(first.step()).arg(last.step());
      // The host runs ahead of a queue: its first steps are short, and say nothing of the device.
      if (steps.count < kLeastSteps && store_->hasQueue()) {
        time.tip = rate.tip =
            tr("Not before %1 steps: the first ones only fill the queue").arg(kLeastSteps);
      } else {
        time.value = tr("%1 / %2 ms")
                         .arg(recent.stepMsP50, 0, 'f', recent.stepMsP50 < 100 ? 1 : 0)
                         .arg(recent.stepMsP95, 0, 'f', recent.stepMsP50 < 100 ? 1 : 0);
        rate.value = QString::fromStdString(store_->rateText(recent.tokensPerS));
      }
    }
    if (const auto row = store_->steps().lastLossRow) {
      loss.name = tr("Loss at step %1").arg(records[*row].step());
      loss.value = QString::number(double(records[*row].loss()), 'f', 3);
    }
  }
  if (!store_->evaluations().empty()) {
    accuracy.value = tr("%1 %").arg(100.0 * store_->evaluations().back().accuracy(), 0, 'f', 1);
    accuracy.tip = tr("%1 held-out texts, after step %2")
                       .arg(store_->evaluations().back().samples())
                       .arg(store_->evaluations().back().step());
  }
  if (!short_) {
    rows.push_back(peak);
  }
  rows.push_back(scope);
  rows.push_back(time);
  rows.push_back(rate);
  // A script's loss and accuracy are values that Highwater never reads.
  if (!store_->ownScript()) {
    rows.push_back(loss);
    rows.push_back(accuracy);
  }
}

}  // namespace highwater::models
