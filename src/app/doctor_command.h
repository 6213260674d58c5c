#pragma once

#include <QJsonObject>
#include <string>

#include "app/options.h"
#include "core/result.h"

namespace highwater::app {

/// `highwater doctor`. Needs a QCoreApplication. Returns the exit code: of the question about the
/// machine failed where the worker gives no answer, with everything else told all the same.
[[nodiscard]] int runDoctor(const DoctorOptions& options);

/// What the worker says of itself, as session::describeWorker(); a complaint of its names the
/// options that the user gave.
[[nodiscard]] Result<Hello> describedWorker(const session::LaunchOptions& launch);

/// Tells the answer as the options want it: as text, as JSON on stdout, or as text with the JSON in
/// a file. The error says which file could not be written.
[[nodiscard]] Result<void> tell(const DoctorOptions& options, const QJsonObject& json,
                                const std::string& text);

}  // namespace highwater::app
