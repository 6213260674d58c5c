// Frame reader, decoding, validator: what comes over a socket.

#include <algorithm>

#include "fuzz_target.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/validator.h"

using namespace highwater;

namespace {

void take(std::span<const std::uint8_t> bytes, wire::StreamSource source, std::size_t chunk) {
  wire::FrameReader reader;
  wire::Validator validator(source);
  while (!bytes.empty()) {
    const std::size_t some = std::min(chunk, bytes.size());
    reader.append(bytes.first(some));
    bytes = bytes.subspan(some);
    while (true) {
      const auto frame = reader.next();
      if (!frame) return;
      if (!frame->has_value()) break;
      const auto message = wire::decode(**frame);
      if (!message) return;
      // What was understood can be said again.
      (void)wire::encode(*message);
      if (!validator.check(*message)) return;
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  take(bytes, wire::StreamSource::kRecording, size);
  take(bytes, wire::StreamSource::kWorker, 97);  // as a socket cuts them
  return 0;
}
