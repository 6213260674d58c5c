#pragma once

#include <QJsonObject>
#include <string>

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater doctor --python`: asks an interpreter what works there, and has it build the
/// library for its PyTorch if there is none, which may take a minute. Needs a QCoreApplication.
/// Returns the exit code: not kExitDone where a script of that interpreter could not be watched.
[[nodiscard]] int runInterpreterCheck(const DoctorOptions& options);

/// The answer of an interpreter as text. `report` is the object that highwater/_doctor.py prints.
[[nodiscard]] std::string interpreterText(const QJsonObject& report);

}  // namespace highwater::cli
