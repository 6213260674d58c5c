#include "session/interpreters.h"

#include <QFileInfo>
#include <QStandardPaths>

#include "session/command_line_tools.h"

namespace highwater::session {
namespace {

/// Where a Mac's users have their Pythons, outside of the PATH that the Finder gives.
QStringList foldersOfMacs(const QString& home) {
  QStringList folders{QStringLiteral("/opt/homebrew/bin")};
  if (home.isEmpty()) return folders;
  for (const char* each :
       {"/.pyenv/shims", "/miniconda3/bin", "/miniforge3/bin", "/anaconda3/bin", "/.local/bin"}) {
    folders << home + QLatin1String(each);
  }
  return folders;
}

}  // namespace

SystemPython systemPython() {
#ifdef Q_OS_MACOS
  return lacksCommandLineTools() ? SystemPython::kStub : SystemPython::kMac;
#else
  return SystemPython::kOrdinary;
#endif
}

QStringList findInterpreters(const QStringList& folders, const QProcessEnvironment& environment,
                             SystemPython system) {
  QStringList candidates;
  for (const QString& folder : folders) {
    if (folder.isEmpty()) continue;
    for (const char* name : {"/.venv", "/venv"}) candidates << folder + QLatin1String(name);
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    candidates << environment.value(QLatin1String(name));
  }
  QStringList found;
  const auto add = [&found](const QString& program) {
    const QFileInfo info(program);
    // Not by what links point to: an environment's python is often a link to the system's.
    if (info.isFile() && info.isExecutable() && !found.contains(program)) found << program;
  };
  for (const QString& each : candidates) {
    if (!each.isEmpty()) add(each + QStringLiteral("/bin/python"));
  }
  const auto addFrom = [&add](const QStringList& path) {
    if (!path.isEmpty()) add(QStandardPaths::findExecutable(QStringLiteral("python3"), path));
  };
  const QString usrBin = QStringLiteral("/usr/bin");
  QStringList path = environment.value(QStringLiteral("PATH")).split(u':', Qt::SkipEmptyParts);
  if (system == SystemPython::kOrdinary) {
    addFrom(path);
    return found;
  }
  const bool hasUsrBin = path.removeAll(usrBin) > 0;
  addFrom(path);
  for (const QString& each : foldersOfMacs(environment.value(QStringLiteral("HOME")))) {
    addFrom({each});
  }
  if (hasUsrBin && system == SystemPython::kMac) addFrom({usrBin});
  return found;
}

}  // namespace highwater::session
