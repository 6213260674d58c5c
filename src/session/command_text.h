#pragma once

#include <QString>

#include "core/messages.h"

namespace highwater::session {

using CommandAction = decltype(Command::action);

/// A command in words: "pause", "batch size 32, loss every 5 from step 20".
[[nodiscard]] QString commandText(const CommandAction& action);

}  // namespace highwater::session
