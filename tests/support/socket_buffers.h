#pragma once

#include <sys/socket.h>
#include <unistd.h>

namespace highwater::test {

/// The size of a socket's buffer in bytes. `option` is SO_SNDBUF or SO_RCVBUF.
inline int bufferBytes(int socket, int option) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  return ::getsockopt(socket, SOL_SOCKET, option, &bytes, &size) == 0 ? bytes : -1;
}

/// True if both buffers of a socket are larger than those of a Unix socket that nobody changed.
inline bool hasGrownBuffers(int socket) {
  const int plain = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const bool grown = bufferBytes(socket, SO_SNDBUF) > bufferBytes(plain, SO_SNDBUF) &&
                     bufferBytes(socket, SO_RCVBUF) > bufferBytes(plain, SO_RCVBUF);
  ::close(plain);
  return grown;
}

}  // namespace highwater::test
