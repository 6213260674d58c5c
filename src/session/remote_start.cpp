#include "session/remote_start.h"

#include <sys/socket.h>

#include <QRegularExpression>
#include <QUrl>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/version.h"
#include "session/frame_channel.h"
#include "session/line_log.h"
#include "session/script_process.h"
#include "session/shell_words.h"

namespace highwater::session {
namespace {

constexpr int kNoPermissionExit = 126, kNoProgramExit = 127;  // of a POSIX shell
constexpr int kNoFolderExit = 125;                            // of the command below
constexpr char kProgramVariable[] = "HIGHWATER_REMOTE_PROGRAM";

QString variable(const char* name, const char* usual) {
  const QString given = qEnvironmentVariable(name);
  return given.isEmpty() ? QLatin1String(usual) : given;
}

/// A folder as it is typed after the host: "~/project" is meant from home, where a shell begins.
QString fromHome(const QString& folder) {
  if (folder == QLatin1String("~")) return {};
  return folder.startsWith(QLatin1String("~/")) ? folder.mid(2) : folder;
}

}  // namespace

bool isSshHost(const QString& text) {
  static const QRegularExpression usable(QStringLiteral("^[^-\\s:][^\\s:]*$"));
  return usable.match(text).hasMatch();
}

Result<QStringList> remoteCommand(const ScriptOptions& options) {
  auto words = splitShellWords(variable("HIGHWATER_SSH", "ssh -T -o ServerAliveInterval=15"));
  if (!words || words->isEmpty()) return usageError("HIGHWATER_SSH is no command");
  QStringList far;
  if (!options.environment.isEmpty()) far << QStringLiteral("env") << options.environment;
  far << variable(kProgramVariable, "highwater") << QStringLiteral("run")
      << QStringLiteral("--stdio");
  if (options.simulated) far << QStringLiteral("--device") << QStringLiteral("sim");
  if (!options.probeLevel.isEmpty()) far << QStringLiteral("--level") << options.probeLevel;
  far << QStringLiteral("--") << options.command;
  QString line = QStringLiteral("exec");
  for (const QString& each : far) {
    // The shell there puts its home in place of ~ where that is not quoted.
    const bool isFromHome = each.startsWith(QLatin1String("~/"));
    line += isFromHome ? QStringLiteral(" ~/") + quoteShellWord(each.mid(2))
                       : u' ' + quoteShellWord(each);
  }
  if (const QString folder = fromHome(options.workingFolder); !folder.isEmpty()) {
    line.prepend(
        QStringLiteral("cd -- %1 || exit %2; ").arg(quoteShellWord(folder)).arg(kNoFolderExit));
  }
  *words << options.host << line;
  return words;
}

RemoteStart::RemoteStart(UniqueFd socket, QString host, QObject* parent)
    : QObject(parent),
      socket_(std::move(socket)),
      host_(std::move(host)),
      notifier_(std::make_unique<QSocketNotifier>(socket_.get(), QSocketNotifier::Read)) {
  connect(notifier_.get(), &QSocketNotifier::activated, this, &RemoteStart::readSome);
}

/// Takes whole lines, and leaves what follows the last of them, which is the first frame.
void RemoteStart::readSome() {
  std::array<char, 4096> bytes;
  const ssize_t seen = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (seen < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (seen <= 0) {  // the end of the remote command tells more
    notifier_->setEnabled(false);
    return;
  }
  const void* newline = std::memchr(bytes.data(), '\n', static_cast<std::size_t>(seen));
  const auto size = newline ? static_cast<const char*>(newline) - bytes.data() + 1 : seen;
  (void)::recv(socket_.get(), bytes.data(), static_cast<std::size_t>(size), MSG_DONTWAIT);
  line_.append(bytes.data(), size);
  noise_ += size;
  if (newline) {
    take(std::exchange(line_, {}).trimmed());
  } else if (noise_ > kMostNoise) {
    fail(tr("%1 prints too much before Highwater answers there").arg(host_));
  }
}

void RemoteStart::take(const QByteArray& line) {
  using namespace remote_lines;
  const auto rest = [&line](std::string_view word) -> std::optional<QString> {
    const QByteArrayView begin(word);
    if (!line.startsWith(begin)) return std::nullopt;
    return plainText(QUrl::fromPercentEncoding(line.mid(begin.size())));
  };
  if (!greeted_) {
    // A prompt without an end of line may stand before it.
    const qsizetype at = line.indexOf(QByteArrayView(kGreeting));
    if (at >= 0) return greet(plainText(QString::fromUtf8(line.mid(at + kGreeting.size()))));
    lastNoise_ = plainText(QString::fromUtf8(line));
    if (noise_ > kMostNoise)
      fail(tr("%1 prints too much before Highwater answers there").arg(host_));
  } else if (const auto path = rest(kRecords)) {
    if (path->isEmpty()) return fail(tr("%1 does not say where it records").arg(host_));
    notifier_->setEnabled(false);
    recording_ = *path;
    started_ = true;
    emit started();
  } else if (const auto why = rest(kNotStarted)) {
    notifier_->setEnabled(false);
    why_ = tr("on %1: %2").arg(host_, *why);  // it ends by itself, with its exit code
  } else {
    fail(tr("%1 answers what this Highwater does not understand").arg(host_));
  }
}

void RemoteStart::greet(const QString& version) {
  greeted_ = true;
  if (version != QLatin1String(kVersion)) {
    return fail(tr("%1 has Highwater %2, and this is %3: install the same version on both")
                    .arg(host_, version, QLatin1String(kVersion)));
  }
  const std::string answer = std::string(remote_lines::kGoAhead) + '\n';
  // If it cannot be sent, the end of the remote command follows.
  (void)sendQuietly(socket_.get(), answer.data(), answer.size());
}

void RemoteStart::timeOut() {
  if (started_) return;
  const QString why =
      greeted_ ? tr("%1 did not say in time whether it has started the program; if it has, it "
                    "records there")
               : tr("%1 did not answer in time; if it asks for a password, let ssh use a key "
                    "(ssh-copy-id)");
  fail(why.arg(host_));
}

void RemoteStart::fail(const QString& why) {
  notifier_->setEnabled(false);
  if (why_.isEmpty()) why_ = why;
  emit failed();
}

QString RemoteStart::whyNotStarted(const ProcessExit& exit, const QString& lastLine) const {
  if (started_ || !why_.isEmpty()) return why_;
  const QString said = lastLine.isEmpty() ? lastNoise_ : lastLine;
  QString why = greeted_
                    ? tr("the connection to %1 ended before it said whether it has started the "
                         "program; if it has, it records there")
                    : tr("the connection to %1 ended before Highwater answered there");
  why = why.arg(host_);
  if (!greeted_ && exit.signal == 0) {
    if (exit.exitCode == kNoFolderExit) {
      why = tr("%1 has no such folder").arg(host_);
    } else if (exit.exitCode == kNoProgramExit || exit.exitCode == kNoPermissionExit) {
      why = tr("Highwater was not found on %1, in the PATH that a command has there; install it, "
               "or name it in %2")
                .arg(host_, QLatin1String(kProgramVariable));
    } else {
      why = tr("%1 could not be reached, or has no Highwater there: exit code %2")
                .arg(host_)
                .arg(exit.exitCode);
    }
  }
  return said.isEmpty() ? why : why + tr("; the last line was: %1").arg(said);
}

}  // namespace highwater::session
