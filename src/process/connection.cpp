#include "process/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "wire/own_descriptor.h"
#include "wire/socket_buffers.h"

namespace highwater::process {
namespace {

std::string why() {
  return std::strerror(errno);
}

Result<std::string> readToken(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return Error{ErrorCode::kNotFound, "the token file " + path.string() + ": " + why()};
  }
  if ((status.st_mode & 077) != 0) {
    return Error{ErrorCode::kNoPermission,
                 "the token file " + path.string() + " can be read by others; make it mode 0600"};
  }
  std::ifstream file(path);
  if (!file) {
    return Error{ErrorCode::kNoPermission, "cannot read the token file " + path.string()};
  }
  std::string token;
  if (!std::getline(file, token) || token.empty()) {
    return Error{ErrorCode::kMalformed, "the token file " + path.string() + " holds no token"};
  }
  return token;
}

Result<Connection> connectTo(const SocketConnection& to) {
  auto token = readToken(to.tokenFile);
  if (!token) return std::move(token).error();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = to.socket.string();
  if (path.size() >= sizeof address.sun_path) {
    return usageError("the socket's path " + path + " is longer than " +
                      std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return failure("a socket cannot be created: " + why());
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  fd = wire::moveToHighNumber(fd);
  wire::growSocketBuffers(fd);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const std::string reason = why();
    ::close(fd);
    return Error{ErrorCode::kNotFound, "no process listens on " + path + ": " + reason};
  }
  return Connection{fd, fd, std::move(*token)};
}

}  // namespace

Result<int> takeStdoutForFrames() {
  const int fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return failure("stdout is not open: " + why());
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    // stderr is closed, but prints must still stay out of the frames.
    const int nowhere = ::open("/dev/null", O_WRONLY);
    if (nowhere < 0 || ::dup2(nowhere, STDOUT_FILENO) < 0) {
      return failure("stdout cannot be set aside: " + why());
    }
  }
  return fd;
}

Result<Connection> openConnection(const HostAddress& host, int framesFd) {
  if (const auto* socket = std::get_if<SocketConnection>(&host)) {
    return connectTo(*socket);
  }
  if (const auto* inherited = std::get_if<FdConnection>(&host)) {
    if (::fcntl(inherited->fd, F_GETFD) < 0) {
      return usageError("--fd " + std::to_string(inherited->fd) + " is not open");
    }
    ::fcntl(inherited->fd, F_SETFD, FD_CLOEXEC);
    return Connection{inherited->fd, inherited->fd, {}};
  }
  return Connection{STDIN_FILENO, framesFd, {}};
}

}  // namespace highwater::process
