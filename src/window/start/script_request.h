#pragma once

#include "session/script_process.h"
#include "window/start/script_fields.h"

namespace highwater::window {

/// The form, checked. `options` and `recording` are complete where there is no problem.
struct ScriptRequest {
  session::ScriptOptions options;
  QString recording;        ///< the name, as in run::recordingFile()
  bool needsPython = true;  ///< false for a launcher, which finds its own interpreter
  ScriptProblems problems;

  [[nodiscard]] bool ok() const { return problems.empty(); }
};

/// Checks all fields and makes the command from them. Looks at the file system, starts nothing.
[[nodiscard]] ScriptRequest checkScript(const ScriptFields& fields);

/// The request as a command line for a POSIX shell.
[[nodiscard]] QString terminalCommand(const ScriptRequest& request);

}  // namespace highwater::window
