#pragma once

#include <QStringList>
#include <string>

namespace highwater::session {

/// Replaces the device's environment variables (core/sim_knobs.h) in a worker's error message by
/// the command-line options that set them, and returns the message. `environment` has the
/// NAME=VALUE entries that options have set; other variables stay.
[[nodiscard]] std::string withOptionNames(std::string message, const QStringList& environment);

}  // namespace highwater::session
