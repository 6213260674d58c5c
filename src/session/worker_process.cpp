#include "session/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <QCoreApplication>
#include <QFileInfo>
#include <QProcessEnvironment>
#include <QThread>
#include <algorithm>
#include <cstring>

#include "session/frame_channel.h"

namespace highwater::session {
namespace {

// Above the standard descriptors and those that QProcess puts in their place.
constexpr int kLowestInheritedFd = 10;
constexpr int kHighestCheckedFd = 4096;

/// Runs in the child between fork and exec: async-signal-safe calls only.
void prepareChild(int inheritedFd, bool dieWithParent) {
  ::setpgid(0, 0);
  const long limit = ::sysconf(_SC_OPEN_MAX);
  const int end =
      limit > 0 ? static_cast<int>(std::min<long>(limit, kHighestCheckedFd)) : kHighestCheckedFd;
  for (int fd = STDERR_FILENO + 1; fd < end; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0) ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
  ::fcntl(inheritedFd, F_SETFD, 0);
#ifdef __linux__
  // Beside the end of the connection, which a stopped worker would not notice. Linux sends this
  // when the thread that forked ends, so it is for the main thread only.
  if (dieWithParent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#else
  (void)dieWithParent;
#endif
}

Result<void> checkProgram(const QString& program) {
  const QFileInfo file(program);
  const std::string path = program.toStdString();
  if (!file.exists()) return Error{ErrorCode::kNotFound, "there is no worker at " + path};
  if (!file.isFile()) return Error{ErrorCode::kNotFound, path + " is not a program"};
  if (!file.isExecutable()) {
    return Error{ErrorCode::kNoPermission, path + " may not be executed"};
  }
  return {};
}

QProcessEnvironment environmentWith(const QStringList& additions) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const QString& entry : additions) {
    const qsizetype equals = entry.indexOf(u'=');
    if (equals > 0) environment.insert(entry.left(equals), entry.mid(equals + 1));
  }
  return environment;
}

}  // namespace

WorkerProcess::WorkerProcess(QObject* parent) : QObject(parent) {
  process_.setProcessChannelMode(QProcess::MergedChannels);
  process_.setStandardInputFile(QProcess::nullDevice());
  connect(&process_, &QProcess::readyReadStandardOutput, this, &WorkerProcess::readOutput);
  connect(&process_, &QProcess::finished, this, &WorkerProcess::onFinished);
}

WorkerProcess::~WorkerProcess() {
  process_.disconnect(this);
  killAndWait();
}

Result<UniqueFd> WorkerProcess::start(const QString& program, const QStringList& arguments,
                                      const QStringList& environment) {
  if (auto usable = checkProgram(program); !usable) return usable.error();
  auto pair = socketPair();
  if (!pair) return pair.error();
  auto [ours, theirs] = std::move(*pair);
  const UniqueFd inherited(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, kLowestInheritedFd));
  if (!inherited.valid()) return failure(std::string("no descriptor: ") + std::strerror(errno));

  const int fd = inherited.get();
  const bool mainThread = QThread::currentThread() == QCoreApplication::instance()->thread();
  process_.setChildProcessModifier([fd, mainThread] { prepareChild(fd, mainThread); });
  process_.setProcessEnvironment(environmentWith(environment));
  process_.start(program, arguments + QStringList{QStringLiteral("--fd"), QString::number(fd)});
  // QProcess has forked by now; the exec is reported through a pipe of its own.
  if (!process_.waitForStarted()) {
    return failure(program.toStdString() +
                   " could not be started: " + process_.errorString().toStdString());
  }
  processId_ = process_.processId();
  return std::move(ours);
}

void WorkerProcess::kill() {
  process_.kill();
}

void WorkerProcess::killAndWait() {
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(5000);
}

bool WorkerProcess::isRunning() const {
  return process_.state() != QProcess::NotRunning;
}

void WorkerProcess::readOutput() {
  lines_.append(process_.readAllStandardOutput(),
                [this](const QString& line) { emit linePrinted(line); });
}

void WorkerProcess::onFinished(int code, QProcess::ExitStatus status) {
  readOutput();
  lines_.finish([this](const QString& line) { emit linePrinted(line); });
  // On Unix QProcess gives the signal's number where the process crashed.
  emit finished(status == QProcess::CrashExit ? ProcessExit{0, code} : ProcessExit{code, 0});
}

QString signalText(int signal) {
  const auto name = [signal]() -> const char* {
    switch (signal) {
      case SIGHUP:
        return "SIGHUP";
      case SIGINT:
        return "SIGINT";
      case SIGQUIT:
        return "SIGQUIT";
      case SIGILL:
        return "SIGILL";
      case SIGTRAP:
        return "SIGTRAP";
      case SIGABRT:
        return "SIGABRT";
      case SIGBUS:
        return "SIGBUS";
      case SIGFPE:
        return "SIGFPE";
      case SIGKILL:
        return "SIGKILL";
      case SIGSEGV:
        return "SIGSEGV";
      case SIGPIPE:
        return "SIGPIPE";
      case SIGTERM:
        return "SIGTERM";
      case SIGXCPU:
        return "SIGXCPU";
      case SIGSYS:
        return "SIGSYS";
      default:
        return nullptr;
    }
  }();
  const QString number = QStringLiteral("signal %1").arg(signal);
  return name ? QStringLiteral("%1 (%2)").arg(number, QLatin1String(name)) : number;
}

}  // namespace highwater::session
