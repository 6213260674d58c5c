#pragma once

#include <QProcessEnvironment>
#include <QStringList>

namespace highwater::session {

/// What /usr/bin/python3 is: as any other; a Mac's, which seldom has PyTorch; or a Mac's stub,
/// which opens a dialog.
enum class SystemPython { kOrdinary, kMac, kStub };
[[nodiscard]] SystemPython systemPython();

/// Finds the Pythons that a user may mean, likeliest first, each once: those of the environments in
/// `folders` (.venv, venv), of the active environment, python3 on the PATH, and HIGHWATER_PYTHON,
/// under which a wheel is installed. On a Mac also those of Homebrew, pyenv and conda: a program
/// started from the Finder has none of them on its PATH.
[[nodiscard]] QStringList findInterpreters(const QStringList& folders,
                                           const QProcessEnvironment& environment,
                                           SystemPython system = systemPython());

/// Where a Python is asked something: it looks for modules in its working folder, and ours may be
/// anybody's.
inline constexpr QLatin1String kFolderOfQuestions("/");

/// A PyTorch that a Python has.
struct InstalledTorch {
  QString folder;
  QString version;  ///< empty where the Python has none
};
/// Asks a Python for its PyTorch, which is not imported. Takes some 50 ms, at most five seconds,
/// and no longer than the thread is not asked to end (QThread::requestInterruption()).
[[nodiscard]] InstalledTorch torchOf(const QString& python, QProcessEnvironment environment);

}  // namespace highwater::session
