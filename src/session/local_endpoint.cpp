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
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

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

constexpr char kSocketFile[] = "socket", kTokenFile[] = "token", kOwnerFile[] = "owner",
               kUnlockedOwner[] = "owner.new";

/// What lies in the folder of an endpoint, and its type (S_IFMT). Nothing else is ever removed from
/// there. Links: the signs that the processes of a program leave (src/python/highwater_mps).
struct FolderEntry {
  const char* name;
  mode_t type;
};
constexpr FolderEntry kFolderEntries[] = {
    {"broken", S_IFLNK},       {"closed", S_IFLNK},
    {"error", S_IFLNK},        {"exec", S_IFLNK},
    {"importing", S_IFLNK},    {"missed", S_IFLNK},
    {"no-torch", S_IFLNK},     {"optimizer", S_IFLNK},
    {"python", S_IFLNK},       {"told", S_IFLNK},
    {"torch", S_IFLNK},        {"unimportable", S_IFLNK},
    {"unwatched", S_IFLNK},    {"watched", S_IFLNK},
    {kSocketFile, S_IFSOCK},   {kTokenFile, S_IFREG},
    {kUnlockedOwner, S_IFREG}, {kOwnerFile, S_IFREG},  // last: whoever is killed before leaves the
                                                       // rest to the next listen()
};

/// The folder at `path`, where only this user can enter it; else none.
UniqueFd openOwnFolder(const QByteArray& path) {
  UniqueFd folder(::open(path.constData(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  const bool isOwn = folder.valid() && ::fstat(folder.get(), &status) == 0 &&
                     status.st_uid == ::geteuid() && (status.st_mode & 0777) == S_IRWXU;
  return isOwn ? std::move(folder) : UniqueFd();
}

/// Removes the files of an endpoint by their names, and their folder if nothing else is in it.
void removeFolder(const QByteArray& path) {
  const UniqueFd folder = openOwnFolder(path);
  if (!folder.valid()) return;
  for (const FolderEntry& entry : kFolderEntries) {
    struct stat status {};
    if (::fstatat(folder.get(), entry.name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (status.st_mode & S_IFMT) == entry.type) {
      ::unlinkat(folder.get(), entry.name, 0);
    }
  }
  ::rmdir(path.constData());
}

/// Locks a new file in the folder of an endpoint, for as long as this process lives: how others
/// tell that it does. The file gets its name only when it is locked.
UniqueFd lockAsOwner(const QString& folder) {
  const QByteArray name = QFile::encodeName(folder + '/') + kOwnerFile;
  const QByteArray unlocked = QFile::encodeName(folder + '/') + kUnlockedOwner;
  UniqueFd file(
      ::open(unlocked.constData(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::rename(unlocked.constData(), name.constData()) != 0) {
    return {};
  }
  return file;
}

/// Whether all that is in a folder has a name of kFolderEntries.
bool holdsOnlyOurs(const QString& folder) {
  const auto names =
      QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot);
  return std::all_of(names.begin(), names.end(), [](const QString& name) {
    return std::any_of(std::begin(kFolderEntries), std::end(kFolderEntries),
                       [&](const FolderEntry& entry) { return name == QLatin1String(entry.name); });
  });
}

/// Removes the folders in `place` that endpoints of killed processes of this user have left.
void removeLeftFolders(const QString& place) {
  const auto names =
      QDir(place).entryList({QStringLiteral("highwater-??????")}, QDir::Dirs | QDir::NoSymLinks);
  for (const QString& name : names) {
    const QString path = place + '/' + name;
    const UniqueFd folder = openOwnFolder(QFile::encodeName(path));
    if (!folder.valid() || !holdsOnlyOurs(path)) continue;
    const UniqueFd owner(
        ::openat(folder.get(), kOwnerFile, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    const bool isLeft = owner.valid() && ::fstat(owner.get(), &status) == 0 &&
                        S_ISREG(status.st_mode) && status.st_size == 0 &&
                        ::flock(owner.get(), LOCK_EX | LOCK_NB) == 0;
    if (isLeft) removeFolder(QFile::encodeName(path));
  }
}

/// Writes the token, and returns the file locked: after three days macOS removes from $TMPDIR the
/// files that nobody has read or locked (Apple's dirhelper).
Result<UniqueFd> writeToken(const QString& path, const std::string& token) {
  UniqueFd file(::open(QFile::encodeName(path).constData(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  if (!file.valid() ||
      ::write(file.get(), token.data(), token.size()) != static_cast<ssize_t>(token.size())) {
    return failure(path.toStdString() + " could not be written: " + systemText() +
                   "; set TMPDIR to a folder with room");
  }
  (void)::flock(file.get(), LOCK_SH | LOCK_NB);  // a file system without locks has it too
  return file;
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

void RemoveEndpointFolder::operator()(QTemporaryDir* folder) const {
  if (folder->isValid()) removeFolder(QFile::encodeName(folder->path()));
  delete folder;
}

LocalEndpoint::Folder LocalEndpoint::makeFolder() {
  const QStringList places = {qEnvironmentVariable("XDG_RUNTIME_DIR"), QDir::tempPath(),
                              QStringLiteral("/tmp")};
  for (const QString& place : places) {
    if (place.isEmpty()) continue;
    removeLeftFolders(place);
    // QTemporaryDir uses mkdtemp: an unpredictable name, and mode 0700 from the start.
    Folder folder(new QTemporaryDir(place + QStringLiteral("/highwater-XXXXXX")));
    folder->setAutoRemove(false);
    if (!folder->isValid()) continue;
    if (QFile::encodeName(folder->filePath(kSocketFile)).size() <= kMaxPathBytes) {
      return folder;
    }
  }
  return {};
}

Result<std::unique_ptr<LocalEndpoint>> LocalEndpoint::listen() {
  auto folder = makeFolder();
  if (!folder) {
    return failure("there is no folder for a local socket; set TMPDIR to a short, writable path");
  }
  const std::string token = randomToken();
  auto tokenFile = writeToken(folder->filePath(kTokenFile), token);
  if (!tokenFile) return tokenFile.error();
  auto listener = listenAt(folder->filePath(kSocketFile));
  if (!listener) return listener.error();
  UniqueFd owner = lockAsOwner(folder->path());
  return std::unique_ptr<LocalEndpoint>(new LocalEndpoint(
      std::move(folder), {std::move(owner), std::move(*tokenFile)}, std::move(*listener), token));
}

LocalEndpoint::LocalEndpoint(Folder folder, LockedFiles locked, UniqueFd listener,
                             std::string token)
    : folder_(std::move(folder)),
      locked_(std::move(locked)),
      listener_(std::move(listener)),
      token_(std::move(token)) {
  notifier_ = std::make_unique<QSocketNotifier>(listener_.get(), QSocketNotifier::Read);
  connect(notifier_.get(), &QSocketNotifier::activated, this, &LocalEndpoint::acceptOne);
}

LocalEndpoint::~LocalEndpoint() {
  notifier_->setEnabled(false);
}

QString LocalEndpoint::socketPath() const {
  return folder_->filePath(kSocketFile);
}

QString LocalEndpoint::tokenFile() const {
  return folder_->filePath(kTokenFile);
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
