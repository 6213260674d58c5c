#pragma once

#include <QList>
#include <QString>

#include "core/simulation.h"

namespace highwater::models {

/// A device that a run can be started on: the value of the option `--device`, and what it means.
struct DeviceChoice {
  QString key, meaning;
};

/// The kinds of devices that a build can offer, beside the CPU.
struct OfferedDevices {
#ifdef __APPLE__
  bool metal = true;
#else
  bool metal = false;
#endif
  bool simulated = kHasSimulation;
};

/// The devices to choose from, "auto" first: only those that a machine with `offered` can run.
[[nodiscard]] QList<DeviceChoice> deviceChoices(const OfferedDevices& offered = {});

}  // namespace highwater::models
