#include "session/local_endpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRandomGenerator>
#include <array>
#include <cerrno>
#include <cstring>

#include "wire/socket_buffers.h"

namespace highwater::session {
namespace {

constexpr int kTokenWords = 8;  // 256 bits

std::string systemText() {
  return std::strerror(errno);
}

std::string randomToken() {
  std::array<quint32, kTokenWords> words{};
  QRandomGenerator::system()->fillRange(words.data(), kTokenWords);
  return QByteArray(reinterpret_cast<const char*>(words.data()), sizeof words)
      .toHex()
      .toStdString();
}

const QString kOwnerFile = QStringLiteral("owner");

/// Locks a new file in the folder of an endpoint, for as long as this process lives: how others
/// tell that it does. The file gets its name only when it is locked.
UniqueFd lockAsOwner(const QString& folder) {
  const QByteArray name = QFile::encodeName(folder + '/' + kOwnerFile);
  const QByteArray unlocked = name + ".new";
  UniqueFd file(
      ::open(unlocked.constData(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::rename(unlocked.constData(), name.constData()) != 0) {
    return {};
  }
  return file;
}

/// Removes the folders in `place` that endpoints of killed processes of this user have left.
void removeLeftFolders(const QString& place) {
  const auto folders = QDir(place).entryInfoList({QStringLiteral("highwater-??????")},
                                                 QDir::Dirs | QDir::NoSymLinks);
  for (const QFileInfo& folder : folders) {
    if (folder.ownerId() != ::geteuid()) continue;
    const QString path = folder.absoluteFilePath() + '/' + kOwnerFile;
    const UniqueFd file(
        ::open(QFile::encodeName(path).constData(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    QDir(folder.absoluteFilePath()).removeRecursively();
  }
}

/// A new folder of mode 0700 whose path is short enough for a socket address; null if there is
/// none.
std::unique_ptr<QTemporaryDir> makeFolder() {
  const QStringList places = {qEnvironmentVariable("XDG_RUNTIME_DIR"), QDir::tempPath(),
                              QStringLiteral("/tmp")};
  for (const QString& place : places) {
    if (place.isEmpty()) continue;
    removeLeftFolders(place);
    // QTemporaryDir uses mkdtemp: an unpredictable name, and mode 0700 from the start.
    auto folder = std::make_unique<QTemporaryDir>(place + QStringLiteral("/highwater-XXXXXX"));
    if (!folder->isValid()) continue;
    if (QFile::encodeName(folder->filePath(QStringLiteral("socket"))).size() <=
        LocalEndpoint::kMaxPathBytes) {
      return folder;
    }
  }
  return nullptr;
}

Result<void> writeToken(const QString& path, const std::string& token) {
  const UniqueFd file(::open(QFile::encodeName(path).constData(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid() ||
      ::write(file.get(), token.data(), token.size()) != static_cast<ssize_t>(token.size())) {
    return failure("the token file could not be written: " + systemText());
  }
  return {};
}

Result<UniqueFd> listenAt(const QString& path) {
  const QByteArray name = QFile::encodeName(path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.constData(), static_cast<std::size_t>(name.size()));
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!listener.valid()) return failure("no socket: " + systemText());
  ::fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
  ::fcntl(listener.get(), F_SETFL, O_NONBLOCK);
  wire::growSocketBuffers(listener.get());  // a peer may write before it is accepted
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(name.constData(), S_IRUSR | S_IWUSR) != 0 || ::listen(listener.get(), 1) != 0) {
    return failure("no socket at " + path.toStdString() + ": " + systemText());
  }
  return listener;
}

/// The user of the process at the other end.
std::optional<uid_t> peerUser(int socket) {
#ifdef __linux__
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
#else
  uid_t user = 0;
  gid_t group = 0;
  if (::getpeereid(socket, &user, &group) != 0) return std::nullopt;
  return user;
#endif
}

}  // namespace

Result<std::unique_ptr<LocalEndpoint>> LocalEndpoint::listen() {
  auto folder = makeFolder();
  if (!folder) {
    return failure("there is no folder for a local socket; set TMPDIR to a short, writable path");
  }
  const std::string token = randomToken();
  if (auto written = writeToken(folder->filePath(QStringLiteral("token")), token); !written) {
    return written.error();
  }
  auto listener = listenAt(folder->filePath(QStringLiteral("socket")));
  if (!listener) return listener.error();
  UniqueFd owner = lockAsOwner(folder->path());
  return std::unique_ptr<LocalEndpoint>(
      new LocalEndpoint(std::move(folder), std::move(owner), std::move(*listener), token));
}

LocalEndpoint::LocalEndpoint(std::unique_ptr<QTemporaryDir> folder, UniqueFd owner,
                             UniqueFd listener, std::string token)
    : folder_(std::move(folder)),
      owner_(std::move(owner)),
      listener_(std::move(listener)),
      token_(std::move(token)) {
  notifier_ = std::make_unique<QSocketNotifier>(listener_.get(), QSocketNotifier::Read);
  connect(notifier_.get(), &QSocketNotifier::activated, this, &LocalEndpoint::acceptOne);
}

LocalEndpoint::~LocalEndpoint() {
  notifier_->setEnabled(false);
}

QString LocalEndpoint::socketPath() const {
  return folder_->filePath(QStringLiteral("socket"));
}

QString LocalEndpoint::tokenFile() const {
  return folder_->filePath(QStringLiteral("token"));
}

bool LocalEndpoint::hasSign(const QString& name) const {
  return QFileInfo(folder_->filePath(name)).isSymLink();
}

QString LocalEndpoint::textOfSign(const QString& name) const {
  std::array<char, 4096> text{};
  const QByteArray path = QFile::encodeName(folder_->filePath(name));
  const ssize_t size = ::readlink(path.constData(), text.data(), text.size());
  return size > 0 ? QFile::decodeName(QByteArray(text.data(), size)) : QString();
}

std::optional<AttachedConnection> LocalEndpoint::take() {
  return std::exchange(connection_, std::nullopt);
}

void LocalEndpoint::acceptOne() {
  UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
  if (!peer.valid()) return;
  ::fcntl(peer.get(), F_SETFD, FD_CLOEXEC);
  wire::growSocketBuffers(peer.get());
  if (peerUser(peer.get()) != ::geteuid()) {
    emit refused(QStringLiteral("a process of another user tried to connect"));
    return;
  }
  notifier_->setEnabled(false);
  listener_.reset();
  connection_ = AttachedConnection{std::move(peer), token_};
  emit connected();
}

}  // namespace highwater::session
