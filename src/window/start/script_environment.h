#pragma once

#include <QStringList>

#include "window/start/script_fields.h"

namespace highwater::window {

/// The variables that the form adds to the environment, as NAME=VALUE. Adds to `problems` what is
/// wrong with a field.
[[nodiscard]] QStringList scriptEnvironment(const ScriptFields& fields, ScriptProblems& problems);

}  // namespace highwater::window
