#pragma once

#include <QJsonObject>
#include <string>

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater doctor --workload`: prints which ops of a workload would not run on `mps`. Needs
/// a QCoreApplication. Returns the exit code: not kExitDone where an op would fail on `mps` or the
/// worker gives no answer.
[[nodiscard]] int runDryCheck(const DoctorOptions& options);

/// Writes the result of a workload's check as text. `report` is the object of
/// worker/checks/dry_check.h.
[[nodiscard]] std::string dryCheckText(const QJsonObject& report);

}  // namespace highwater::cli
