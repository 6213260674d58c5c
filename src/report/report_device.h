#pragma once

#include <QJsonObject>
#include <string>

#include "analysis/device/device_work.h"
#include "analysis/live_store.h"
#include "core/messages.h"
#include "report/text_table.h"

namespace highwater::report {

/// The device and why it was chosen: "simulated mps: there is no Metal on Linux".
[[nodiscard]] std::string deviceSentence(const DeviceReport& device);

/// Adds device_path, execution, idle_estimate and device_work to a JSON report (see
/// docs/report-json.md), each null for the CPU and at level off.
void addDeviceParts(const analysis::LiveStore& store, QJsonObject& report);

/// Adds idle time and backend switches as lines of the text report.
void addDeviceLines(const analysis::LiveStore& store, TextTable& head);

/// Makes the table that shows for each phase of a step how long the host queued ops and how long
/// the device took to run them. Empty if nothing is known.
[[nodiscard]] TextTable executionTable(const analysis::LiveStore& store);

/// Makes the table of the places that take most of the device's time in a step, by the sizes of
/// their ops. Empty where nothing was counted.
[[nodiscard]] TextTable deviceWorkTable(const analysis::DeviceWork& work);

}  // namespace highwater::report
