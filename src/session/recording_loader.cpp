#include "session/recording_loader.h"

#include "store/recording_reader.h"
#include "wire/codec.h"
#include "wire/validator.h"

namespace highwater::session {

Result<void> loadRecording(const std::filesystem::path& path, MessageSink& sink) {
  auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  wire::Validator validator(wire::StreamSource::kRecording);
  const auto damaged = [&path](const Error& error) {
    return Error{error.code, path.filename().string() + " is damaged: " + error.message};
  };
  return reader->forEachFrame([&](std::span<const std::uint8_t> frame) -> Result<void> {
    auto message = wire::decode(frame);
    if (!message) return damaged(message.error());
    if (auto valid = validator.check(*message); !valid) return damaged(valid.error());
    sink.take(frame, *message);
    return {};
  });
}

}  // namespace highwater::session
