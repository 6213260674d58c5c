#include "session/worker_choice.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QProcess>

#include "core/torch_build.h"
#include "session/interpreters.h"
#include "session/session.h"

namespace highwater::session {
namespace {

constexpr int kPythonLimitMs = 10'000;
#ifdef Q_OS_MACOS
constexpr QLatin1String kLibraryPath("DYLD_LIBRARY_PATH");
#else
constexpr QLatin1String kLibraryPath("LD_LIBRARY_PATH");
#endif

// Prints the folder of PyTorch and its version, without importing it. The folder in which Highwater
// was started may be anybody's: no module is taken from there, neither torch nor one of these.
constexpr char kQuestion[] = R"py(
import sys
sys.path[:] = [each for each in sys.path if each]
import importlib.util, re
spec = importlib.util.find_spec("torch")
for folder in list(spec and spec.submodule_search_locations or ())[:1]:
    with open(folder + "/version.py", encoding="utf-8") as file:
        print(folder, re.search("__version__ = ['\"]([^'\"]+)", file.read())[1], sep="\n")
)py";

/// The libtorch of the last success of findWorker().
QString gTorchLibraries;

struct PythonsTorch {
  QString folder;
  QString version;  ///< empty where the Python has none
};

PythonsTorch askPython(const QString& python, QProcessEnvironment environment) {
  QProcess process;
  environment.insert(QStringLiteral("PYTHONDONTWRITEBYTECODE"), QStringLiteral("1"));
  process.setProcessEnvironment(environment);
  process.setStandardInputFile(QProcess::nullDevice());
  process.start(python, {QStringLiteral("-c"), QLatin1String(kQuestion)});
  if (!process.waitForFinished(kPythonLimitMs)) {
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

QStringList pythons(const QProcessEnvironment& environment) {
  QStringList found = findInterpreters({}, environment);
  const QString own = environment.value(QStringLiteral("HIGHWATER_PYTHON"));
  if (QFileInfo(own).isExecutable() && !found.contains(own)) found << own;
  return found;
}

std::string noTorchMessage(const QStringList& versions, const QStringList& asked) {
  const std::string wanted = versions.join(QStringLiteral(" or ")).toStdString();
  const std::string looked = asked.isEmpty()
                                 ? "there is no python3 on the PATH"
                                 : "found " + asked.join(QStringLiteral(", ")).toStdString();
  return "the samples need PyTorch " + wanted + " (" + looked +
         "); activate an environment with it, or make one: "
         "python3 -m venv samples && samples/bin/pip install torch==" +
         versions.back().toStdString() +
         " && source samples/bin/activate. Your own script needs none of this: highwater run -- "
         "python3 train.py uses the PyTorch of its own python3";
}

}  // namespace

Result<WorkerChoice> chooseWorker(const QString& folder, const QProcessEnvironment& environment) {
  const QString named = environment.value(QStringLiteral("HIGHWATER_WORKER"));
  if (!named.isEmpty()) {
    if (QFileInfo::exists(named)) return WorkerChoice{named, {}};
    return Error{ErrorCode::kNotFound,
                 "HIGHWATER_WORKER names " + named.toStdString() + ", which does not exist"};
  }
  const QString name = QStringLiteral("highwater-worker");
  const QString beside = folder + u'/' + name;
  if (QFileInfo::exists(beside)) return WorkerChoice{beside, {}};
  const QStringList workers =
      QDir(folder).entryList({name + QStringLiteral("-*")}, QDir::Files | QDir::Executable);
  if (workers.isEmpty()) {
    return Error{ErrorCode::kNotFound, "there is no highwater-worker beside this program (" +
                                           beside.toStdString() +
                                           "); build it, or name it in HIGHWATER_WORKER"};
  }
  QStringList versions;
  for (const QString& worker : workers) versions << worker.mid(name.size() + 1);
  QStringList asked;
  for (const QString& python : pythons(environment)) {
    const PythonsTorch torch = askPython(python, environment);
    for (qsizetype i = 0; i < workers.size(); ++i) {
      if (isBuildOf(torch.version.toStdString(), versions[i].toStdString())) {
        return WorkerChoice{folder + u'/' + workers[i], torch.folder + QStringLiteral("/lib")};
      }
    }
    asked << python + (torch.version.isEmpty() ? QStringLiteral(" without PyTorch")
                                               : QStringLiteral(" with PyTorch ") + torch.version);
  }
  return Error{ErrorCode::kVersionMismatch, noTorchMessage(versions, asked)};
}

Result<QString> findWorker() {
  const auto choice = chooseWorker(QCoreApplication::applicationDirPath(),
                                   QProcessEnvironment::systemEnvironment());
  if (!choice) return choice.error();
  gTorchLibraries = choice->torchLibraries;
  return choice->program;
}

void addTorchLibraries(QProcessEnvironment& environment) {
  if (gTorchLibraries.isEmpty()) return;
  const QString theirs = environment.value(kLibraryPath);
  environment.insert(kLibraryPath,
                     theirs.isEmpty() ? gTorchLibraries : gTorchLibraries + u':' + theirs);
}

}  // namespace highwater::session
