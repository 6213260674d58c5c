#include "session/ask_worker.h"

#include <QProcess>
#include <QProcessEnvironment>

#include "session/line_log.h"

namespace highwater::session {
namespace {

QProcessEnvironment changedEnvironment(const QStringList& changes) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const QString& entry : changes) {
    const QString name = entry.section(u'=', 0, 0);
    if (entry.contains(u'=')) {
      environment.insert(name, entry.section(u'=', 1));
    } else {
      environment.remove(name);
    }
  }
  return environment;
}

}  // namespace

Result<WorkerAnswer> askWorker(const QString& program, const QStringList& arguments,
                               const QStringList& environment, std::chrono::milliseconds limit) {
  QProcess process;
  process.setProcessEnvironment(changedEnvironment(environment));
  process.setStandardInputFile(QProcess::nullDevice());
  process.start(program, arguments);
  if (!process.waitForStarted()) {
    return failure(program.toStdString() +
                   " cannot be started: " + process.errorString().toStdString());
  }
  WorkerAnswer answer;
  if (!process.waitForFinished(static_cast<int>(limit.count()))) {
    answer.isTimedOut = true;
    process.kill();
    process.waitForFinished();
  }
  answer.out = process.readAllStandardOutput();
  LineLog lines;
  const auto ignore = [](const QString&) {};
  lines.append(process.readAllStandardError(), ignore);
  lines.finish(ignore);
  answer.lastLines = lines.lines();
  const int code = process.exitCode();
  answer.exit =
      process.exitStatus() == QProcess::CrashExit ? ProcessExit{0, code} : ProcessExit{code, 0};
  return answer;
}

}  // namespace highwater::session
