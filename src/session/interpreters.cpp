#include "session/interpreters.h"

#include <QDeadlineTimer>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>
#include <QThread>

#include "session/command_line_tools.h"

namespace highwater::session {
namespace {

constexpr int kPythonLimitMs = 5000;
/// How often a question that waits looks whether it still should.
constexpr int kTurnMs = 50;

// Prints the folder of PyTorch and its version, without importing it.
constexpr char kQuestion[] = R"py(
import importlib.util, re
spec = importlib.util.find_spec("torch")
for folder in list(spec and spec.submodule_search_locations or ())[:1]:
    with open(folder + "/version.py", encoding="utf-8") as file:
        print(folder, re.search("__version__ = ['\"]([^'\"]+)", file.read())[1], sep="\n")
)py";

/// Where a Mac's users have their Pythons, outside of the PATH that the Finder gives.
QStringList foldersOfMacs(const QString& home) {
  QStringList folders{QStringLiteral("/opt/homebrew/bin"),
                      QStringLiteral("/opt/homebrew/Caskroom/miniconda/base/bin"),
                      QStringLiteral("/opt/homebrew/Caskroom/miniforge/base/bin"),
                      QStringLiteral("/opt/miniconda3/bin"), QStringLiteral("/opt/anaconda3/bin")};
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
  // Asked once: the first page looks for Pythons at each letter that is typed.
  static const bool isStub = lacksCommandLineTools();
  return isStub ? SystemPython::kStub : SystemPython::kMac;
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
    const QString path = info.absoluteFilePath();
    if (info.isFile() && info.isExecutable() && !found.contains(path)) found << path;
  };
  for (const QString& each : candidates) {
    if (!each.isEmpty()) add(each + QStringLiteral("/bin/python"));
  }
  const auto addFrom = [&add](const QStringList& path) {
    if (!path.isEmpty()) add(QStandardPaths::findExecutable(QStringLiteral("python3"), path));
  };
  const QString usrBin = QStringLiteral("/usr/bin");
  QStringList path = environment.value(QStringLiteral("PATH")).split(u':', Qt::SkipEmptyParts);
  const bool isMac = system != SystemPython::kOrdinary;
  const bool hasUsrBin = isMac && path.removeAll(usrBin) > 0;
  addFrom(path);
  if (isMac) {
    for (const QString& each : foldersOfMacs(environment.value(QStringLiteral("HOME")))) {
      addFrom({each});
    }
  }
  if (hasUsrBin && system == SystemPython::kMac) addFrom({usrBin});
  add(environment.value(QStringLiteral("HIGHWATER_PYTHON")));
  return found;
}

InstalledTorch torchOf(const QString& python, QProcessEnvironment environment) {
  QProcess process;
  environment.insert(QStringLiteral("PYTHONDONTWRITEBYTECODE"), QStringLiteral("1"));
  process.setProcessEnvironment(environment);
  process.setStandardInputFile(QProcess::nullDevice());
  process.setWorkingDirectory(kFolderOfQuestions);
  process.start(python, {QStringLiteral("-c"), QLatin1String(kQuestion)});
  QDeadlineTimer limit(kPythonLimitMs);
  while (!process.waitForFinished(kTurnMs)) {
    const bool isStopped = QThread::currentThread()->isInterruptionRequested();
    if (process.state() != QProcess::NotRunning && !limit.hasExpired() && !isStopped) continue;
    process.kill();
    process.waitForFinished();
    return {};
  }
  const QStringList lines =
      QString::fromUtf8(process.readAllStandardOutput()).split(u'\n', Qt::SkipEmptyParts);
  if (process.exitCode() != 0 || lines.size() < 2) return {};
  // What starts with every Python may print lines of its own.
  return {lines[lines.size() - 2], lines.back()};
}

}  // namespace highwater::session
