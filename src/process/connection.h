#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "core/result.h"

namespace highwater::process {

/// The host is at stdin and stdout.
struct StdioConnection {};
/// The host is at an inherited socket.
struct FdConnection {
  int fd = -1;
};
/// The host listens on a local socket; the token file proves who connects.
struct SocketConnection {
  std::filesystem::path socket;
  std::filesystem::path tokenFile;
};
/// Where the host of this process is.
using HostAddress = std::variant<StdioConnection, FdConnection, SocketConnection>;

/// A connection to the host: the file descriptors that frames are read from and written to (the
/// same one for a socket), and the token that proves to the owner of a local socket who connects.
struct Connection {
  int readFd = -1;
  int writeFd = -1;
  std::string token;
};

/// Reserves stdout for protocol frames: duplicates it, returns the duplicate, and points descriptor
/// 1 at stderr, so that a print cannot break a frame. Call it before anything can print. Returns
/// kFailed where stdout is closed.
[[nodiscard]] Result<int> takeStdoutForFrames();

/// Opens the connection to a host. `framesFd` is the result of takeStdoutForFrames(), used with
/// StdioConnection only. Fails with kUsage for a descriptor that is not open or a socket path that
/// is too long; kNotFound if the socket cannot be connected to or there is no token file;
/// kNoPermission if the token file's mode gives others any access; kMalformed if no token can be
/// read from it; kFailed if the system makes no socket.
[[nodiscard]] Result<Connection> openConnection(const HostAddress& host, int framesFd);

}  // namespace highwater::process
