#include "session/recording_loader.h"

#include "store/recording_reader.h"
#include "wire/codec.h"
#include "wire/validator.h"

namespace highwater::session {

Result<void> loadRecording(const std::filesystem::path& path, MessageSink& sink) {
  auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  wire::Validator validator(wire::StreamSource::kRecording);
  auto read = reader->forEachFrame([&](std::span<const std::uint8_t> frame) -> Result<void> {
    auto message = wire::decode(frame);
    if (!message) return message.error();
    if (auto valid = validator.check(*message); !valid) return valid;
    sink.take(frame, *message);
    return {};
  });
  if (read) return {};
  return Error{read.error().code,
               path.filename().string() + " is damaged: " + read.error().message};
}

}  // namespace highwater::session
