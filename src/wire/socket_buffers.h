#pragma once

namespace highwater::wire {

/// The size of each buffer that growSocketBuffers() asks for, in bytes.
inline constexpr int kSocketBufferBytes = 1 << 20;

/// Asks for send and receive buffers of kSocketBufferBytes for a socket, or of the largest power of
/// two that the system grants. Larger buffers mean that a sender waits less often for its reader:
/// by default macOS gives a Unix socket 8 KiB (`net.local.stream.sendspace`).
void growSocketBuffers(int socket);

}  // namespace highwater::wire
