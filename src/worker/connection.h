#pragma once

#include <string>

#include "core/result.h"
#include "worker/options.h"

namespace highwater::worker {

/// The descriptors that frames are read from and written to (the same one for a socket), and the
/// token that proves us to a socket's owner.
struct Connection {
  int readFd = -1;
  int writeFd = -1;
  std::string token;
};

/// Keeps stdout's descriptor for frames and points descriptor 1 at stderr, so that no print can
/// break a frame. To be called before anything else of the program runs. Returns the kept one.
[[nodiscard]] Result<int> takeStdoutForFrames();

/// `framesFd` is what takeStdoutForFrames() returned, where that was asked for.
[[nodiscard]] Result<Connection> openConnection(const Options& options, int framesFd);

}  // namespace highwater::worker
