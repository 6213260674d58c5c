#include "session/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <QCoreApplication>
#include <QFileInfo>
#include <QThread>
#include <QUuid>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "session/frame_channel.h"
#include "session/process_search.h"
#include "session/worker_choice.h"

namespace highwater::session {
namespace {

/// Above the standard descriptors and those that QProcess puts in their place.
constexpr int kLowestInheritedFd = 10;
constexpr int kHighestCheckedFd = 4096;
/// Pipes and socket pair for one start take 9; the rest is slack.
constexpr int kDescriptorsForStart = 16;
constexpr int kMostSearches = 100;

/// Runs in the child between fork and exec: only async-signal-safe calls are allowed.
void prepareChild(const std::vector<int>& inherited, bool dieWithParent) {
  ::setpgid(0, 0);
  const long limit = ::sysconf(_SC_OPEN_MAX);
  const int end =
      limit > 0 ? static_cast<int>(std::min<long>(limit, kHighestCheckedFd)) : kHighestCheckedFd;
  for (int fd = STDERR_FILENO + 1; fd < end; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0) ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
  for (const int fd : inherited) ::fcntl(fd, F_SETFD, 0);
#ifdef __linux__
  // A worker that is stopped (SIGSTOP) does not read the end of its connection. Linux sends this
  // signal when the thread that forked ends, so only the main thread may ask for it.
  if (dieWithParent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#else
  (void)dieWithParent;
#endif
}

Result<void> checkWorker(const QString& program) {
  const QFileInfo file(program);
  const std::string path = program.toStdString();
  if (!file.exists()) return Error{ErrorCode::kNotFound, "there is no worker at " + path};
  if (!file.isFile()) return Error{ErrorCode::kNotFound, path + " is not a program"};
  if (!file.isExecutable()) {
    return Error{ErrorCode::kNoPermission, path + " may not be executed"};
  }
  return {};
}

/// kFailed with advice if the process may not open as many descriptors as a start takes.
Result<void> checkDescriptors() {
  std::vector<UniqueFd> opened;
  for (int i = 0; i < kDescriptorsForStart; ++i) {
    opened.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (opened.back().valid()) continue;
    rlimit limit{};
    if (errno != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
      return failure(std::string("/dev/null cannot be opened: ") + std::strerror(errno));
    }
    return failure("too few file descriptors to start a worker: this process may open " +
                   std::to_string(limit.rlim_cur) +
                   "; raise the limit, for example with 'ulimit -n 1024'");
  }
  return {};
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
                                      const QStringList& environment, std::vector<int> passed) {
  if (auto usable = checkWorker(program); !usable) return usable.error();
  if (auto enough = checkDescriptors(); !enough) return enough.error();
  auto pair = socketPair();
  if (!pair) return pair.error();
  auto [ours, theirs] = std::move(*pair);
  const UniqueFd inherited(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, kLowestInheritedFd));
  if (!inherited.valid()) return failure(std::string("no descriptor: ") + std::strerror(errno));

  const int fd = inherited.get();
  const bool mainThread = QThread::currentThread() == QCoreApplication::instance()->thread();
  passed.push_back(fd);
  process_.setChildProcessModifier(
      [passed = std::move(passed), mainThread] { prepareChild(passed, mainThread); });
  const QString launchEntry =
      QStringLiteral("HIGHWATER_LAUNCH_ID=") + QUuid::createUuid().toString(QUuid::WithoutBraces);
  QProcessEnvironment all = environmentWith(environment + QStringList{launchEntry});
  addTorchLibraries(all);
  process_.setProcessEnvironment(all);
  process_.start(program, arguments + QStringList{QStringLiteral("--fd"), QString::number(fd)});
  // QProcess has forked, and waits on a pipe for the success of exec.
  if (!process_.waitForStarted()) {
    return failure(program.toStdString() +
                   " could not be started: " + process_.errorString().toStdString());
  }
  processId_ = process_.processId();
  launchEntry_ = launchEntry.toStdString();
  return std::move(ours);
}

void WorkerProcess::kill() {
  if (!isRunning()) return;
  ::kill(static_cast<pid_t>(-processId_), SIGKILL);
  process_.kill();  // in case it left its group
}

void WorkerProcess::killAndWait() {
  if (isRunning()) {
    kill();
    process_.waitForFinished(5000);
  }
  killDescendants();
}

void WorkerProcess::killDescendants() {
  if (launchEntry_.empty()) return;
  // A process can fork between the search and its kill: search until nothing new turns up.
  std::set<pid_t> killed;
  bool isNew = true;
  for (int round = 0; isNew && round < kMostSearches; ++round) {
    isNew = false;
    for (const pid_t id : processesWithEnvironment(launchEntry_)) {
      if (!killed.insert(id).second) continue;
      ::kill(id, SIGKILL);
      isNew = true;
    }
  }
  launchEntry_.clear();
}

bool WorkerProcess::isRunning() const {
  return process_.state() != QProcess::NotRunning;
}

void WorkerProcess::readOutput() {
  lines_.append(process_.readAllStandardOutput(),
                [this](const QString& line) { emit linePrinted(line); });
}

void WorkerProcess::onFinished(int code, QProcess::ExitStatus status) {
  killDescendants();
  readOutput();
  lines_.finish([this](const QString& line) { emit linePrinted(line); });
  // On Unix the exit code of a crashed QProcess is the number of the signal.
  emit finished(status == QProcess::CrashExit ? ProcessExit{0, code} : ProcessExit{code, 0});
}

QProcessEnvironment environmentWith(const QStringList& additions) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const QString& entry : additions) {
    const qsizetype equals = entry.indexOf(u'=');
    if (equals > 0) environment.insert(entry.left(equals), entry.mid(equals + 1));
  }
  return environment;
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
