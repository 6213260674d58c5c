#pragma once

#include <QJsonObject>
#include <string>

#include "cli/options.h"
#include "core/result.h"

namespace highwater::cli {

/// Runs `highwater doctor`: examines the machine, a workload or the probe. Needs a
/// QCoreApplication. Returns the exit code; without --workload and --selftest it is not kExitDone
/// where the worker gives no answer, after printing everything else.
[[nodiscard]] int runDoctor(const DoctorOptions& options);

/// Asks a worker for its versions and device. Blocks and fails as session::describeWorker() does,
/// but its errors name command-line options instead of the environment variables that they set.
[[nodiscard]] Result<Hello> describedWorker(const session::LaunchOptions& launch);

/// Returns an answer as the text that --json writes.
[[nodiscard]] std::string jsonText(const QJsonObject& json);
/// Writes the answer to the file that --json names; does nothing without one. Fails with kFailed if
/// the file cannot be written.
[[nodiscard]] Result<void> saveAnswer(const DoctorOptions& options, const QJsonObject& json);

/// Prints an answer as the options ask: as text, as JSON on stdout, or as text with the JSON in a
/// file. Fails with kFailed if the file cannot be written.
[[nodiscard]] Result<void> printAnswer(const DoctorOptions& options, const QJsonObject& json,
                                       const std::string& text);

}  // namespace highwater::cli
