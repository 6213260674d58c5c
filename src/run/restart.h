#pragma once

#include <QString>

#include "core/messages.h"
#include "core/restart_settings.h"
#include "session/session.h"

namespace highwater::run {

/// The settings with which the worker of `hello` runs, as it has reported them.
[[nodiscard]] RestartSettings restartSettingsOf(const Hello& hello);
/// The settings with which a worker of these options would start; of what they leave open, those of
/// this process's environment, and then PyTorch's.
[[nodiscard]] RestartSettings restartSettingsOf(const session::LaunchOptions& options);

/// Makes `options` start a worker with `wanted` where it now has `inUse`.
void putRestartSettings(session::LaunchOptions& options, const RestartSettings& inUse,
                        const RestartSettings& wanted);

/// "device sim → cpu, CPU fallback on".
[[nodiscard]] QString restartText(const RestartSettings& before, const RestartSettings& after);

}  // namespace highwater::run
