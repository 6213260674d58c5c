#include "session/script_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <QDir>
#include <QFileInfo>
#include <QProcessEnvironment>
#include <QRegularExpression>
#include <QStandardPaths>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <utility>

#include "core/missing_op.h"
#include "core/refused_dtype.h"
#include "core/simulation.h"
#include "session/event_turn.h"
#include "session/frame_channel.h"
#include "session/process_search.h"
#include "session/python_package.h"
#include "session/start_signals.h"
#include "session/worker_process.h"

namespace highwater::session {
namespace {

constexpr int kLastLinesMs = 300;

/// The folder that makes a Python process attach, in PYTHONPATH.
QString attachFolder() {
  return pythonPackageFolder() + QStringLiteral("/highwater_mps/attach");
}

/// PYTHONPATH with `folder` in front.
QString pythonPath(const QProcessEnvironment& environment, const QString& folder) {
  const QString theirs = environment.value(QStringLiteral("PYTHONPATH"));
  return theirs.isEmpty() ? folder : folder + ':' + theirs;
}

// SQLite's writer ignores SIGXFSZ.
constexpr std::array kChangedSignals = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

/// The signals that were ignored when this process began, as by nohup. Read before main(), which
/// handles some itself.
const std::array<bool, kChangedSignals.size()> ignoredAtStart = [] {
  std::array<bool, kChangedSignals.size()> ignored{};
  for (std::size_t i = 0; i < ignored.size(); ++i) {
    struct sigaction action {};
    ignored[i] =
        ::sigaction(kChangedSignals[i], nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }
  return ignored;
}();

/// Blocks SIGTERM and SIGHUP for this thread while it exists. A child that is forked meanwhile gets
/// such a signal when it has restored its signals: until then the handlers are this process's, and
/// would swallow it. This process gets it afterwards, and passes it on. For the signals of a
/// terminal, which the child gets itself, see StartSignals.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int each : {SIGTERM, SIGHUP}) sigaddset(&blocked, each);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

/// The program gets its signals as this process did. Async-signal-safe.
void restoreSignals(const sigset_t& mask) {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int each : kChangedSignals) sigaddset(&blocked, each);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  for (std::size_t i = 0; i < kChangedSignals.size(); ++i) {
    std::signal(kChangedSignals[i], ignoredAtStart[i] ? SIG_IGN : SIG_DFL);
  }
  StartSignals::raiseNoted();
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

Result<void> checkCommand(const QStringList& command) {
  const QString program = command.value(0);
  const QFileInfo file(program);
  if (!QStandardPaths::findExecutable(program).isEmpty() ||
      (file.isExecutable() && !file.isDir())) {
    return {};
  }
  const std::string name = program.toStdString();
  const bool isPython = program.endsWith(QStringLiteral(".py"));
  if (isPython && file.isFile()) {
    return Error{ErrorCode::kNotFound,
                 name +
                     " is a script that cannot be run by itself; give the command that runs it: "
                     "highwater run --record FILE -- python3 " +
                     name};
  }
  if (isPython) return Error{ErrorCode::kNotFound, "there is no script " + name};
  if (file.isDir()) return Error{ErrorCode::kNotFound, name + " is a folder, not a program"};
  if (file.exists()) return Error{ErrorCode::kNotFound, name + " is not executable"};
  // Outside of virtual environments macOS and Debian have no other name for it.
  const QString other = QStringLiteral("python3");
  if (program == QLatin1String("python") && !QStandardPaths::findExecutable(other).isEmpty()) {
    const QString meant = (QStringList{other} + command.mid(1)).join(u' ');
    return Error{
        ErrorCode::kNotFound,
        "there is no program python here, but there is python3; give " + meant.toStdString()};
  }
  return Error{ErrorCode::kNotFound,
               "there is no program " + name +
                   "; give the command that starts the training, for example python3 train.py"};
}

/// A process that the program has started, and that goes on after its end; 0: none.
pid_t processLeftBehind(const LocalEndpoint& endpoint) {
  const std::string entry = "HIGHWATER_SCRIPT_SOCKET=" + endpoint.socketPath().toStdString();
  auto left = processesWithEnvironment(entry);
  // A process that forks and ends is followed by one that a first look may have been too early for.
  if (left.empty()) left = processesWithEnvironment(entry);
  return left.empty() ? 0 : left.front();
}

constexpr std::string_view kTellSteps =
    "; to record a loop that does not train, import highwater_mps as highwater and call "
    "highwater.step() at the end "
    "of each iteration";

/// How far the program's Python processes came, by the signs that they have left.
std::string whatWasSeen(const LocalEndpoint& endpoint) {
  const auto saw = [&endpoint](const char* sign) { return endpoint.hasSign(QLatin1String(sign)); };
  if (saw("unwatched")) {
    return "the training could not be watched: " +
           endpoint.textOfSign(QStringLiteral("unwatched")).toStdString();
  }
  if (saw("optimizer")) {
    std::string seen = "an optimizer was built, but none stepped, and no backward ran";
    if (::geteuid() == 0) {
      seen +=
          ", unless after the program changed its user: then it may not open Highwater's socket";
    }
    return seen.append(kTellSteps);
  }
  if (saw("torch")) {
    return std::string(
               "PyTorch was imported, but no torch.optim optimizer was built, and no backward ran")
        .append(kTellSteps);
  }
  if (saw("unimportable")) {
    return "import torch failed: " +
           endpoint.textOfSign(QStringLiteral("unimportable")).toStdString();
  }
  if (saw("importing")) return "it ended while it imported PyTorch, before any training";
  if (saw("missed")) {
    return "PyTorch was imported past Highwater, by an import hook of the program or after it "
           "changed sys.meta_path; import highwater_mps as highwater and call highwater.start() "
           "before the training";
  }
  if (saw("no-torch")) {
    const std::string python = endpoint.textOfSign(QStringLiteral("no-torch")).toStdString();
    return python + " has no PyTorch; run the program with the Python that has it";
  }
  if (saw("python")) {
    return "Python ran, but did not import torch, unless in a process that it started without "
           "PYTHONPATH";
  }
  return "no Python process of this program loaded Highwater's part; Python ignores it when "
         "started "
         "with -I, -E or -S, and where PYTHONPATH is changed";
}

/// The file that a Python interpreter is told to run, as in "python -u train.py"; empty where the
/// command runs something else, or has options that are not known here.
QString pythonFileOf(const QStringList& command) {
  static const QRegularExpression python(QStringLiteral("^python[0-9.]*(\\.exe)?$"));
  if (!python.match(QFileInfo(command.value(0)).fileName()).hasMatch()) return {};
  static const QRegularExpression flags(QStringLiteral("^-[bBdEiIOPqRsSuvx]+$"));
  for (qsizetype i = 1; i < command.size(); ++i) {
    const QString& each = command[i];
    if (each == QLatin1String("-W") || each == QLatin1String("-X")) {
      ++i;
    } else if (!each.startsWith(QLatin1Char('-'))) {
      return each;
    } else if (!flags.match(each).hasMatch()) {
      return {};
    }
  }
  return {};
}

}  // namespace

QString programText(const QStringList& command) {
  const qsizetype module = command.indexOf(QStringLiteral("-m"));
  for (qsizetype i = 1; i < command.size() && (module < 0 || i < module); ++i) {
    if (command[i].endsWith(QStringLiteral(".py"))) return QFileInfo(command[i]).fileName();
  }
  if (module > 0 && module + 1 < command.size()) {
    return QStringLiteral("-m ") + command[module + 1];
  }
  return QFileInfo(command.value(0)).fileName();
}

ScriptProcess::ScriptProcess(ScriptOptions options, QObject* parent)
    : QObject(parent), options_(std::move(options)), process_(std::make_unique<QProcess>()) {
  process_->setProcessChannelMode(QProcess::ForwardedChannels);
  process_->setInputChannelMode(QProcess::ForwardedInputChannel);
  if (!isRemote() && !options_.workingFolder.isEmpty())
    process_->setWorkingDirectory(options_.workingFolder);
  connect(process_.get(), &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    signal_ = status == QProcess::CrashExit ? code : 0;
    hasExited_ = true;
    if (!relay_.copy.valid()) return conclude();
    // The relay is another process, and may still have the last lines; what the program has left
    // behind may hold the relay.
    lastLines_.start();
  });
  lastLines_.setSingleShot(true);
  lastLines_.setInterval(kLastLinesMs);
  connect(&lastLines_, &QTimer::timeout, this, &ScriptProcess::conclude);
}

ScriptProcess::~ScriptProcess() {
  process_->disconnect(this);
  // QProcess kills what it started when it is destroyed, and the program is not ours to kill.
  if (process_->state() != QProcess::NotRunning) (void)process_.release();
}

Result<void> ScriptProcess::hearOutput() {
  auto relay = OutputRelay::start(options_.mayDropOutput);
  if (!relay) return relay.error();
  relay_ = std::move(*relay);
  printed_ = std::make_unique<QSocketNotifier>(relay_.copy.get(), QSocketNotifier::Read);
  connect(printed_.get(), &QSocketNotifier::activated, this, &ScriptProcess::readOutput);
  return {};
}

void ScriptProcess::readOutput() {
  QByteArray bytes(16'384, Qt::Uninitialized);
  bool isOver = false;
  for (int i = 0; i < kReadsPerTurn && !isOver; ++i) {
    const ssize_t got =
        ::read(relay_.copy.get(), bytes.data(), static_cast<std::size_t>(bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    isOver = got == 0;  // the relay has ended
    lines_.append(bytes.first(got), [this](const QString& line) { emit linePrinted(line); });
  }
  emit openLineChanged(lines_.openLine());
  if (!isOver) return;
  printed_->setEnabled(false);
  if (hasExited_) conclude();
}

void ScriptProcess::conclude() {
  if (std::exchange(ended_, true)) return;
  lastLines_.stop();
  if (printed_) printed_->setEnabled(false);
  lines_.finish([this](const QString& line) { emit linePrinted(line); });
  emit openLineChanged({});
  emit ended();
}

void ScriptProcess::send(int signal) const {
  if (processId() > 0) ::kill(static_cast<pid_t>(processId()), signal);
}

QString ScriptProcess::whyNotStartedThere() const {
  if (!remote_) return {};
  const QStringList& lines = lastLines();
  return remote_->whyNotStarted({exitCode(), signal_}, lines.isEmpty() ? QString() : lines.last());
}

void ScriptProcess::giveUp() const {
  if (remote_) remote_->timeOut();
}

void ScriptProcess::signalAll(int signal, pid_t trainer) const {
  if (!endpoint_) return;
  const QString entry = QStringLiteral("HIGHWATER_SCRIPT_SOCKET=") + endpoint_->socketPath();
  const auto found = processesWithEnvironment(entry.toStdString());
  std::set<pid_t> ids(found.begin(), found.end());
  ids.insert({static_cast<pid_t>(processId()), trainer});
  for (const pid_t id : ids) {
    if (id > 0) ::kill(id, signal);
  }
}

Result<void> checkScript(const ScriptOptions& options) {
  if (!options.host.isEmpty()) {
    auto command = remoteCommand(options);
    if (!command) return command.error();
    if (!QStandardPaths::findExecutable(command->first()).isEmpty()) return {};
    return Error{ErrorCode::kNotFound,
                 "there is no program " + command->first().toStdString() +
                     "; HIGHWATER_SSH names the command that reaches another machine"};
  }
  if (auto found = checkCommand(options.command); !found) return found;
  if (!QFileInfo::exists(attachFolder() + QStringLiteral("/sitecustomize.py"))) {
    return Error{ErrorCode::kNotFound, "Highwater's Python package is missing in " +
                                           pythonPackageFolder().toStdString() +
                                           "; install Highwater again"};
  }
  if (options.simulated && !QFileInfo::exists(simulatedDeviceLibrary())) {
    return Error{ErrorCode::kNotFound,
                 "the simulated device is missing: " + simulatedDeviceLibrary().toStdString()};
  }
  if (!options.workingFolder.isEmpty() && !QFileInfo(options.workingFolder).isDir()) {
    return Error{ErrorCode::kNotFound, "there is no folder " + options.workingFolder.toStdString()};
  }
  const QDir folder(options.workingFolder.isEmpty() ? QDir::currentPath() : options.workingFolder);
  const QString file = pythonFileOf(options.command);
  if (!file.isEmpty() && !QFileInfo::exists(folder.filePath(file))) {
    return Error{ErrorCode::kNotFound, "there is no file " + file.toStdString() + " in " +
                                           folder.absolutePath().toStdString()};
  }
  return {};
}

Result<void> ScriptProcess::start() {
  if (auto usable = checkScript(options_); !usable) return usable;
  return isRemote() ? startThere() : startHere();
}

Result<void> ScriptProcess::startThere() {
  auto command = remoteCommand(options_);
  auto sockets = socketPair();
  if (!sockets) return sockets.error();
  remote_ = std::make_unique<RemoteStart>(std::move(sockets->first), options_.host);
  connect(remote_.get(), &RemoteStart::started, this, &ScriptProcess::connected);
  connect(remote_.get(), &RemoteStart::failed, this, [this] { send(SIGTERM); });
  return launch(*command, sockets->second.get());
}

Result<void> ScriptProcess::startHere() {
  auto endpoint = LocalEndpoint::listen();
  if (!endpoint) return endpoint.error();
  endpoint_ = std::move(*endpoint);
  connect(endpoint_.get(), &LocalEndpoint::connected, this, &ScriptProcess::connected);
  connect(endpoint_.get(), &LocalEndpoint::refused, this, &ScriptProcess::refused);

  QProcessEnvironment environment = environmentWith(options_.environment);
  // What a wheel's command says of itself: another Highwater that the program starts is none.
  for (const char* each : {"HIGHWATER_COMMAND", "HIGHWATER_PYTHON"}) {
    environment.remove(QLatin1String(each));
  }
  environment.insert(QStringLiteral("PYTHONPATH"), pythonPath(environment, attachFolder()));
  environment.insert(QStringLiteral("HIGHWATER_SCRIPT_SOCKET"), endpoint_->socketPath());
  environment.insert(QStringLiteral("HIGHWATER_SCRIPT_TOKEN"), endpoint_->tokenFile());
  environment.insert(QStringLiteral("HIGHWATER_SCRIPT_LEVEL"), options_.probeLevel);
  if (options_.simulated) {
    environment.insert(QStringLiteral("HIGHWATER_SCRIPT_SIMMPS"), simulatedDeviceLibrary());
  }
  if (!environment.contains(QLatin1String(kScriptLibraryVariable))) {
    environment.insert(QLatin1String(kScriptLibraryVariable), scriptLibraryFolder());
  }
  process_->setProcessEnvironment(environment);
  return launch(options_.command, -1);
}

/// Starts a command, whose stdin and stdout are `connection` unless that is -1.
Result<void> ScriptProcess::launch(const QStringList& command, int connection) {
  if (options_.isHeard) {
    if (auto heard = hearOutput(); !heard) return heard;
  }
  bool started = false;
  {
    const StartSignals terminals;
    const BlockedSignals blocked;
    process_->setChildProcessModifier([out = relay_.out.get(), err = relay_.err.get(),
                                       mask = blocked.before(),
                                       printsToStderr = options_.printsToStderr, connection] {
      if (printsToStderr) ::dup2(STDERR_FILENO, STDOUT_FILENO);
      if (out >= 0) ::dup2(out, STDOUT_FILENO);
      if (err >= 0) ::dup2(err, STDERR_FILENO);
      restoreSignals(mask);
      if (connection < 0) return;
      for (const int end : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(connection, end);
      // Ctrl+C is for the program, and goes through the connection. A terminal sends it to ssh too.
      for (const int each : {SIGINT, SIGQUIT, SIGHUP}) std::signal(each, SIG_IGN);
    });
    process_->start(command.first(), command.mid(1));
    started = process_->waitForStarted(-1);
  }
  // The program has its own; the relay ends when nobody has them open.
  relay_.out.reset();
  relay_.err.reset();
  if (!started) {
    return failure(command.first().toStdString() + " cannot be started: " + whyNotStarted());
  }
  return {};
}

/// QProcess says of a lack of descriptors that there is no such file.
std::string ScriptProcess::whyNotStarted() const {
  // As many as QProcess opens, which has closed them again.
  std::array<UniqueFd, 8> others;
  for (UniqueFd& each : others) {
    each = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!each.valid()) return std::string(std::strerror(errno)) + "; raise ulimit -n";
  }
  return process_->errorString().toStdString();
}

std::optional<AttachedConnection> ScriptProcess::takeConnection() {
  if (remote_) return AttachedConnection{remote_->takeSocket(), {}};
  return endpoint_->take();
}

std::string ScriptProcess::disconnectReason() const {
  if (!endpoint_) return {};
  if (endpoint_->hasSign(QStringLiteral("exec"))) {
    return "replaced itself by another program (exec)";
  }
  if (endpoint_->hasSign(QStringLiteral("closed"))) {
    return "closed its connection to Highwater (as code does that closes all descriptors)";
  }
  return endpoint_->textOfSign(QStringLiteral("broken")).toStdString();
}

qint64 ScriptProcess::leftBehind() const {
  return endpoint_ ? processLeftBehind(*endpoint_) : 0;
}

std::string ScriptProcess::whyNothingTrained() const {
  if (!endpoint_) {  // the Highwater there has printed it
    return lastLines().isEmpty() ? "see above" : lastLines().last().toStdString();
  }
  std::string why = whatWasSeen(*endpoint_);
  if (const qint64 left = hasEnded() ? leftBehind() : 0; left != 0) {
    why += "; process " + std::to_string(left) +
           ", which the program has started, goes on; what that one does is not recorded";
  }
  const QString error = endpoint_->textOfSign(QStringLiteral("error"));
  if (kHasSimulation && !options_.simulated && error.contains(QLatin1String("support for mps"))) {
    why += std::string("; ") + kSimulationHint;
  }
  const auto refused = refusedDtype(error.toStdString());
  if (refused) {
    why += ". MPS has no " + refused->dtype + (refused->needsNewerMacOs ? " here: " : ": ") +
           dtypeAdvice(*refused);
  }
  if (const auto missing = missingOp(error.toStdString())) {
    why += ". MPS has no " + missing->op + ": " + missingOpAdvice(*missing);
  }
  return why;
}

}  // namespace highwater::session
