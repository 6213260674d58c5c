#pragma once

#include <QString>

#include "core/command_answer.h"

namespace highwater::session {

/// Describes a command for the user: "pause", "batch size 32, loss every 5 from step 20".
[[nodiscard]] QString commandText(const CommandAction& command);

/// Describes a refused command and the reason for the user: "\"pause\" was refused: the run is
/// paused already".
[[nodiscard]] QString refusalText(const CommandAnswer& answer);

}  // namespace highwater::session
