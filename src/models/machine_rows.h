#pragma once

#include <QString>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::models {

/// A value of a panel. `note` qualifies the value, as in "1.20 GiB" and "7 %"; `tip` explains it.
struct NotedValue {
  QString name, value, note, tip;
};

/// How a live run and its machine are at this moment: driver memory and its distance from the
/// recommended max, GPU utilization, memory pressure, swap, thermal state, Low Power Mode, held-out
/// accuracy. Only what is known; of the machine's state only what is out of the ordinary.
[[nodiscard]] std::vector<NotedValue> machineRows(const analysis::LiveStore& store);

}  // namespace highwater::models
