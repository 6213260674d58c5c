#pragma once

#include <QJsonObject>
#include <string>

#include "app/options.h"

namespace highwater::app {

/// `highwater doctor --workload`. Needs a QCoreApplication. Returns the exit code: failed where an
/// op would fail on `mps`, or the worker gives no answer.
[[nodiscard]] int runDryCheck(const DoctorOptions& options);

/// A worker's answer (worker/dry_check.h has its members) for people.
[[nodiscard]] std::string dryCheckText(const QJsonObject& report);

}  // namespace highwater::app
