#include "wire/socket_buffers.h"

#include <sys/socket.h>

namespace highwater::wire {
namespace {

constexpr int kSmallestAskedFor = 64 << 10;

/// macOS refuses a size above its limit (`kern.ipc.maxsockbuf`), where Linux gives what it can.
void growBuffer(int socket, int option) {
  for (int bytes = kSocketBufferBytes; bytes >= kSmallestAskedFor; bytes /= 2) {
    if (::setsockopt(socket, SOL_SOCKET, option, &bytes, sizeof bytes) == 0) return;
  }
}

}  // namespace

void growSocketBuffers(int socket) {
  growBuffer(socket, SO_SNDBUF);
  growBuffer(socket, SO_RCVBUF);
}

}  // namespace highwater::wire
