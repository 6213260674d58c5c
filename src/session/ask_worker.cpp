#include "session/ask_worker.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QProcessEnvironment>
#include <algorithm>

#include "session/line_log.h"
#include "session/worker_choice.h"

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
  addTorchLibraries(environment);
  return environment;
}

}  // namespace

Result<WorkerAnswer> askWorker(const QString& program, const QStringList& arguments,
                               const QStringList& environment, std::chrono::milliseconds limit,
                               const std::function<void(const QByteArray&)>& onLine) {
  QProcess process;
  process.setProcessEnvironment(changedEnvironment(environment));
  process.setStandardInputFile(QProcess::nullDevice());
  process.start(program, arguments);
  if (!process.waitForStarted()) {
    return failure(program.toStdString() +
                   " cannot be started: " + process.errorString().toStdString());
  }
  WorkerAnswer answer;
  QElapsedTimer clock;
  clock.start();
  const auto leftMs = [&] {
    return static_cast<int>(std::max<qint64>(limit.count() - clock.elapsed(), 0));
  };
  qsizetype told = 0;
  const auto takeOutput = [&] {
    answer.out += process.readAllStandardOutput();
    for (qsizetype end = answer.out.indexOf('\n', told); onLine && end >= 0;
         end = answer.out.indexOf('\n', told)) {
      onLine(answer.out.mid(told, end - told));
      told = end + 1;
    }
  };
  while (process.waitForReadyRead(leftMs())) takeOutput();
  if (process.state() != QProcess::NotRunning && !process.waitForFinished(leftMs())) {
    answer.isTimedOut = true;
    process.kill();
    process.waitForFinished();
  }
  takeOutput();
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
