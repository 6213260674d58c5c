#include "session/worker_choice.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QThread>
#include <QVersionNumber>
#include <algorithm>

#include "session/interpreters.h"
#include "session/session.h"

namespace highwater::session {
namespace {

#ifdef Q_OS_MACOS
constexpr QLatin1String kLibraryPath("DYLD_LIBRARY_PATH");
#else
constexpr QLatin1String kLibraryPath("LD_LIBRARY_PATH");
#endif

/// The last success of findWorker().
WorkerChoice gChosen;

/// A release candidate or a nightly is no `release`: what they export may differ.
bool isRelease(const QString& version, const QString& release) {
  return version == release || version.startsWith(release + u'+');
}

std::string noTorchMessage(const QStringList& versions, const QStringList& asked) {
#ifdef Q_OS_MACOS
  const std::string index;
#else
  // PyPI's is for CUDA, and has gigabytes.
  const std::string index = " --index-url https://download.pytorch.org/whl/cpu";
#endif
  const std::string wanted = versions.join(QStringLiteral(" or ")).toStdString();
  const std::string looked = asked.isEmpty()
                                 ? "there is no python3 on the PATH"
                                 : "found " + asked.join(QStringLiteral(", ")).toStdString();
  return "the samples need PyTorch " + wanted + " (" + looked +
         "); activate an environment with it, or make one: "
         "python3 -m venv samples && samples/bin/pip install torch==" +
         versions.back().toStdString() + index +
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
  std::sort(versions.begin(), versions.end(), [](const QString& a, const QString& b) {
    return QVersionNumber::fromString(a) < QVersionNumber::fromString(b);
  });
  QStringList asked;
  for (const QString& python : findInterpreters({}, environment)) {
    if (QThread::currentThread()->isInterruptionRequested()) break;
    const InstalledTorch torch = torchOf(python, environment);
    for (const QString& version : versions) {
      if (isRelease(torch.version, version)) {
        return WorkerChoice{folder + u'/' + name + u'-' + version,
                            torch.folder + QStringLiteral("/lib")};
      }
    }
    asked << python + (torch.version.isEmpty() ? QStringLiteral(" without PyTorch")
                                               : QStringLiteral(" with PyTorch ") + torch.version);
  }
  return Error{ErrorCode::kVersionMismatch, noTorchMessage(versions, asked)};
}

void rememberWorker(const WorkerChoice& choice) {
  gChosen = choice;
}

Result<QString> findWorker() {
  // The other choices take no time, and follow the environment.
  const bool isRemembered =
      !gChosen.torchLibraries.isEmpty() && !qEnvironmentVariableIsSet("HIGHWATER_WORKER") &&
      QFileInfo::exists(gChosen.program) && QFileInfo::exists(gChosen.torchLibraries);
  if (isRemembered) return gChosen.program;
  const auto choice = chooseWorker(QCoreApplication::applicationDirPath(),
                                   QProcessEnvironment::systemEnvironment());
  if (!choice) return choice.error();
  rememberWorker(*choice);
  return choice->program;
}

void addTorchLibraries(QProcessEnvironment& environment) {
  const QString& torch = gChosen.torchLibraries;
  if (torch.isEmpty()) return;
  const QString theirs = environment.value(kLibraryPath);
  environment.insert(kLibraryPath, theirs.isEmpty() ? torch : torch + u':' + theirs);
}

}  // namespace highwater::session
