#include "window/start/interpreters.h"

#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>

#include "session/interpreters.h"
#include "session/python_package.h"

namespace highwater::window {
namespace {

// Written so that any Python can read it. A torch in the script's folder is only found. The package
// lies first on the path only while it is imported: it must not be found in the place of the user's
// modules.
constexpr char kQuestion[] = R"(
import json, sys
path = [each or sys.argv[3] for each in sys.path]
answer = {"python": "%d.%d.%d" % sys.version_info[:3], "torch": "", "problem": "", "ready": False}
if sys.version_info < (3, 9):
    answer["problem"] = "PyTorch 2.6 and later need Python 3.9"
else:
    sys.path.insert(0, sys.argv[1])
    from highwater_mps import _library
    sys.path[:] = path
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

}  // namespace

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
  process_->setWorkingDirectory(session::kFolderOfQuestions);
  process_->setStandardInputFile(QProcess::nullDevice());
  connect(process_.get(), &QProcess::finished, this, &InterpreterQuestion::read);
  connect(process_.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      fail(tr("it cannot be started: %1").arg(process_->errorString()));
    }
  });
  limit_.start();
  process_->start(program,
                  {QStringLiteral("-c"), QLatin1String(kQuestion), session::pythonPackageFolder(),
                   session::scriptLibraryFolder(), QFileInfo(folder).absoluteFilePath()});
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
