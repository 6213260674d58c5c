#include "window/start/interpreters.h"

#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>

#include "session/command_line_tools.h"
#include "session/python_package.h"

namespace highwater::window {
namespace {

// Written so that any Python can read it. The package lies first on the path only while it is
// imported: it must not be found in the place of the user's modules.
constexpr char kQuestion[] = R"(
import json, sys
answer = {"python": "%d.%d.%d" % sys.version_info[:3], "torch": "", "problem": "", "ready": False}
if sys.version_info < (3, 9):
    answer["problem"] = "PyTorch 2.6 and later need Python 3.9"
else:
    sys.path.insert(0, sys.argv[1])
    from highwater_mps import _library
    del sys.path[0]
    answer["torch"], answer["problem"], answer["ready"] = _library.readiness(sys.argv[2])
print(json.dumps(answer))
)";

/// The answer is the last line: what starts with every Python may print lines of its own.
QJsonObject lastObject(const QByteArray& out) {
  const QList<QByteArray> lines = out.trimmed().split('\n');
  return QJsonDocument::fromJson(lines.back()).object();
}

/// The last line of an error, which is what a Python traceback says.
QString lastLine(const QByteArray& err) {
  const QString line = QString::fromUtf8(err.trimmed().split('\n').back()).trimmed();
  return line.size() > 120 ? line.left(120) + QStringLiteral("…") : line;
}

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
  return session::lacksCommandLineTools() ? SystemPython::kStub : SystemPython::kMac;
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

InterpreterQuestion::InterpreterQuestion(std::chrono::milliseconds limit, QObject* parent)
    : QObject(parent) {
  limit_.setSingleShot(true);
  limit_.setInterval(limit);
  connect(&limit_, &QTimer::timeout, this,
          [this] { fail(tr("it gave no answer within %1 s").arg(limit_.interval() / 1000.0)); });
}

InterpreterQuestion::~InterpreterQuestion() {
  cancel();
}

void InterpreterQuestion::ask(const QString& program, const QString& folder) {
  cancel();
  program_ = program;
  process_ = std::make_unique<QProcess>();
  auto environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("PYTHONDONTWRITEBYTECODE"), QStringLiteral("1"));
  process_->setProcessEnvironment(environment);
  process_->setWorkingDirectory(QFileInfo(folder).isDir() ? folder : QString());
  process_->setStandardInputFile(QProcess::nullDevice());
  connect(process_.get(), &QProcess::finished, this, &InterpreterQuestion::read);
  connect(process_.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      fail(tr("it cannot be started: %1").arg(process_->errorString()));
    }
  });
  limit_.start();
  process_->start(program, {QStringLiteral("-c"), QLatin1String(kQuestion),
                            session::pythonPackageFolder(), session::scriptLibraryFolder()});
}

void InterpreterQuestion::cancel() {
  limit_.stop();
  if (!process_) return;
  process_->disconnect(this);
  process_->kill();
  // It removes itself once it has ended: waiting for it would hold up the window.
  QProcess* ending = process_.release();
  if (ending->state() == QProcess::NotRunning) {
    ending->deleteLater();
  } else {
    connect(ending, &QProcess::finished, ending, &QObject::deleteLater);
  }
}

void InterpreterQuestion::finish(const InterpreterAnswer& answer) {
  cancel();
  emit answered(answer);
}

void InterpreterQuestion::fail(const QString& problem) {
  InterpreterAnswer answer;
  answer.program = program_;
  answer.problem = problem;
  finish(answer);
}

void InterpreterQuestion::read() {
  InterpreterAnswer answer;
  answer.program = program_;
  const QJsonObject said = lastObject(process_->readAllStandardOutput());
  answer.version = said[QLatin1String("python")].toString();
  if (process_->exitStatus() != QProcess::NormalExit || answer.version.isEmpty()) {
    const QString error = lastLine(process_->readAllStandardError());
    return fail(error.isEmpty() ? tr("it is not a Python") : tr("it failed: %1").arg(error));
  }
  answer.torch = said[QLatin1String("torch")].toString();
  answer.problem = said[QLatin1String("problem")].toString();
  answer.probeReady = said[QLatin1String("ready")].toBool();
  finish(answer);
}

}  // namespace highwater::window
