#pragma once

#include <QString>

#include "core/messages.h"
#include "session/session.h"
#include "views/panels/restart_controls.h"

namespace highwater::window {

/// The settings with which the worker of `hello` runs, as it has reported them.
[[nodiscard]] views::RestartSettings restartSettingsOf(const Hello& hello);
/// The settings with which a worker of these options would start; of what they leave open, those of
/// this process's environment, and then PyTorch's.
[[nodiscard]] views::RestartSettings restartSettingsOf(const session::LaunchOptions& options);

/// Makes `options` start a worker with `wanted` where it now has `inUse`.
void putRestartSettings(session::LaunchOptions& options, const views::RestartSettings& inUse,
                        const views::RestartSettings& wanted);

/// "device sim → cpu, CPU fallback on".
[[nodiscard]] QString restartText(const views::RestartSettings& before,
                                  const views::RestartSettings& after);

}  // namespace highwater::window
