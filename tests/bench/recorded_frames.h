#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>
#include <variant>

#include "wire/codec.h"
#include "wire/frame_reader.h"

namespace highwater::bench {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, FileCloser>;

/// A file without a name, deleted when it is closed; nullptr if it cannot be created.
[[nodiscard]] inline TemporaryFile makeTemporaryFile() {
  return TemporaryFile(std::tmpfile());
}

/// Calls f(message), with the message's own type, for each frame in `fd`.
template <typename F>
void forEachMessage(int fd, F&& f) {
  wire::FrameReader frames;
  std::array<std::uint8_t, 65536> buffer{};
  off_t at = 0;
  for (ssize_t n = 0; (n = ::pread(fd, buffer.data(), buffer.size(), at)) > 0; at += n) {
    frames.append({buffer.data(), static_cast<std::size_t>(n)});
    while (true) {
      const auto frame = frames.next();
      if (!frame || !*frame) break;
      const auto message = wire::decode(**frame);
      if (message) std::visit(f, *message);
    }
  }
}

}  // namespace highwater::bench
