#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "wire/codec.h"
#include "wire/frame_reader.h"

namespace highwater::test {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, FileCloser>;

/// Calls f(message) for each frame of a worker's stream, from where `file` is to its end; `file`
/// may be a pipe. Throws std::runtime_error if the stream is malformed.
template <typename F>
void forEachFrame(std::FILE* file, F&& f) {
  wire::FrameReader frames;
  std::array<std::uint8_t, 65536> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    frames.append({buffer.data(), n});
    while (true) {
      const auto frame = frames.next();
      if (!frame) throw std::runtime_error(frame.error().message);
      if (!*frame) break;
      const auto message = wire::decode(**frame);
      if (!message) throw std::runtime_error(message.error().message);
      f(*message);
    }
  }
}

}  // namespace highwater::test
