#pragma once

#include <QProcessEnvironment>
#include <QStringList>

namespace highwater::session {

/// What /usr/bin/python3 is: as any other; a Mac's, which seldom has PyTorch; or a Mac's stub,
/// which opens a dialog.
enum class SystemPython { kOrdinary, kMac, kStub };
[[nodiscard]] SystemPython systemPython();

/// Finds the Pythons that a user may mean, likeliest first, each once: those of the environments in
/// `folders` (.venv, venv), of the active environment, and python3 on the PATH. On a Mac also those
/// of Homebrew, pyenv and conda: a program started from the Finder has none of them on its PATH.
[[nodiscard]] QStringList findInterpreters(const QStringList& folders,
                                           const QProcessEnvironment& environment,
                                           SystemPython system = systemPython());

}  // namespace highwater::session
