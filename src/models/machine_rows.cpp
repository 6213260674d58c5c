#include "models/machine_rows.h"

#include <QCoreApplication>
#include <cmath>

#include "core/names.h"
#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::models {
namespace {

struct LiveRows {
  Q_DECLARE_TR_FUNCTIONS(LiveRows)

 public:
  const analysis::LiveStore& store;
  std::vector<NotedValue> rows;

  void addMemory() {
    const auto& memory = store.memory();
    if (memory.timesNs.empty() || !store.hasMemoryCounters()) return;
    const std::size_t last = memory.timesNs.size() - 1;
    const double driver = memory.driver[last], most = memory.recommended[last];
    NotedValue row{tr("Driver allocated now"), bytesText(driver), {}, {}};
    row.tip = tr("Memory that the Metal driver holds at this moment, including caches");
    if (most > 0) {
      row.note = percentText(driver / most);
      row.tip +=
          QLatin1Char('\n') +
          (driver <= most ? tr("%1 below the recommended max").arg(bytesText(most - driver))
                          : tr("%1 above the recommended max").arg(bytesText(driver - most)));
    }
    rows.push_back(row);
  }

  /// Only macOS reports it.
  void addGpu() {
    const auto& gpu = store.system().gpuPercent;
    if (gpu.empty() || std::isnan(gpu[gpu.size() - 1])) return;
    rows.push_back({tr("GPU utilization now"),
                    tr("%1 %").arg(gpu[gpu.size() - 1], 0, 'f', 0),
                    {},
                    tr("Of all processes, as the driver reports it")});
  }

  void addSystem() {
    const auto& system = store.system();
    if (system.timesNs.empty()) return;
    const std::size_t last = system.timesNs.size() - 1;
    const events::Pressure pressure = system.pressure[last];
    if (pressure == events::Pressure::Warning || pressure == events::Pressure::Critical) {
      rows.push_back({tr("Memory pressure"),
                      text(pressureName(pressure)),
                      {},
                      tr("Of the whole system, including other applications")});
    }
    if (system.swapUsed[last] > 0) {
      rows.push_back(
          {tr("Swap used"), bytesText(system.swapUsed[last]), {}, tr("Of the whole system")});
    }
  }

  void addMachine() {
    const auto& machine = store.machine();
    if (machine.timesNs.empty()) return;
    const std::size_t last = machine.timesNs.size() - 1;
    if (machine.swapRate[last] > 0) {
      rows.push_back({tr("Swapping"),
                      tr("%1/s").arg(bytesText(machine.swapRate[last])),
                      {},
                      tr("To and from swap, of the whole system, over the last second")});
    }
    const events::ThermalState state = machine.thermal[last];
    if (state > events::ThermalState::Nominal) {
      rows.push_back({tr("Thermal state"),
                      text(thermalStateName(state)),
                      {},
                      state >= events::ThermalState::Serious
                          ? tr("The machine is hot: the system slows processors and GPU down")
                          : tr("The machine is warmer than usual, and not slowed down yet")});
    }
    if (machine.power[last] == events::PowerMode::Low) {
      rows.push_back({tr("Low Power Mode"),
                      tr("on"),
                      {},
                      tr("The system slows processors and GPU down to save energy")});
    }
  }

  /// Of a script Highwater knows no accuracy.
  void addAccuracy() {
    if (store.evaluations().empty() || store.ownScript()) return;
    const events::Evaluation& last = store.evaluations().back();
    rows.push_back(
        {tr("Held-out accuracy"), tr("%1 %").arg(100.0 * last.accuracy(), 0, 'f', 1),
         tr("step %1").arg(last.step()),
         tr("Of the last evaluation: %1 held-out texts, after this step").arg(last.samples())});
  }
};

}  // namespace

std::vector<NotedValue> machineRows(const analysis::LiveStore& store) {
  LiveRows made{store, {}};
  made.addMemory();
  made.addGpu();
  made.addSystem();
  made.addMachine();
  made.addAccuracy();
  return std::move(made.rows);
}

}  // namespace highwater::models
