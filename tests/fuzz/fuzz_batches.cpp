// A batch of a recording behind its checksum: what a file can hold that zstd finds sound.

#include <cstdlib>

#include "fuzz_target.h"
#include "store/batch_codec.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/validator.h"

using namespace highwater;

namespace {

void takeUnpacked(std::span<const std::uint8_t> packed, std::int64_t rawBytes) {
  static store::BatchUnpacker unpacker;
  const auto raw = unpacker.unpack(packed, rawBytes);
  if (!raw) return;
  if (raw->size() != static_cast<std::size_t>(rawBytes)) std::abort();
  wire::FrameReader reader;
  wire::Validator validator(wire::StreamSource::kRecording);
  reader.append(*raw);
  while (true) {
    const auto frame = reader.next();
    if (!frame || !frame->has_value()) return;
    const auto message = wire::decode(**frame);
    if (!message || !validator.check(*message)) return;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static store::BatchPacker packer;
  const auto packed = packer.pack({data, size});
  if (!packed) return 0;
  takeUnpacked(*packed, static_cast<std::int64_t>(size));
  takeUnpacked(*packed, static_cast<std::int64_t>(size) + 1);
  takeUnpacked({data, size}, static_cast<std::int64_t>(size));  // no zstd at all
  return 0;
}
