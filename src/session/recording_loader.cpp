#include "session/recording_loader.h"

#include "store/recording_reader.h"
#include "wire/codec.h"
#include "wire/validator.h"

namespace highwater::session {

std::string damageText(const std::filesystem::path& path, const RecordingCondition& condition) {
  std::string text = '"' + path.string() + "\" is damaged: ";
  for (const std::string& each : condition.damage) {
    text += (&each == condition.damage.data() ? "" : "; ") + each;
  }
  return text;
}

Result<RecordingCondition> loadRecording(const std::filesystem::path& path, MessageSink& sink,
                                         const std::function<bool()>& cancelled) {
  auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  wire::Validator validator(wire::StreamSource::kRecording);
  const auto damaged = [&path](const Error& error) {
    return Error{error.code, path.filename().string() + " is damaged: " + error.message};
  };
  RecordingCondition condition{reader->beingWritten(), reader->findDamage()};
  auto replayed = reader->forEachFrame([&](std::span<const std::uint8_t> frame) -> Result<void> {
    if (cancelled && cancelled()) return failure("the reading was cancelled");
    auto message = wire::decode(frame);
    if (!message) return damaged(message.error());
    if (auto valid = validator.check(*message); !valid) return damaged(valid.error());
    sink.take(frame, *message);
    return {};
  });
  if (!replayed && replayed.error().code == ErrorCode::kMalformed && !condition.damage.empty()) {
    return Error{ErrorCode::kMalformed, replayed.error().message + "; " + condition.damage.front()};
  }
  if (!replayed) return replayed.error();
  return condition;
}

}  // namespace highwater::session
