#pragma once

#include <string>

#include "core/messages.h"

namespace highwater::analysis {

/// The name of the signal that ended a run, "SIGTERM", as the run's own sentence gives it: numbers
/// differ between systems, and a recording may be of another one. Empty if the sentence has none.
[[nodiscard]] std::string signalName(const RunEnd& end);

/// How the process of the run ended, where that was not as planned and is known: "exit code 7",
/// "SIGKILL", "signal 9"; else empty.
[[nodiscard]] std::string processExitText(const RunEnd& end);

}  // namespace highwater::analysis
