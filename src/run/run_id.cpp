#include "run/run_id.h"

#include "store/recording_reader.h"
#include "wire/codec.h"

namespace highwater::run {
namespace {

std::optional<RunId> runIdOfFrame(std::span<const std::uint8_t> frame) {
  const auto message = wire::decode(frame);
  const auto* hello = message ? std::get_if<Hello>(&*message) : nullptr;
  return hello ? std::optional(runIdOf(*hello)) : std::nullopt;
}

}  // namespace

RunId runIdOf(const Hello& hello) {
  return {hello.processId, hello.clock.unixEpochNs, hello.clock.monotonicEpochNs};
}

Result<std::optional<RunId>> readRunId(const store::RecordingReader& reader) {
  const auto count = reader.batchCount();
  if (!count) return count.error();
  if (*count == 0) return std::optional<RunId>();
  std::optional<RunId> found;
  bool seen = false;
  const auto read =
      reader.forEachFrameOf(1, [&](std::span<const std::uint8_t> frame) -> Result<void> {
        seen = true;
        found = runIdOfFrame(frame);
        return failure("only the first frame is wanted");
      });
  if (!seen && !read) return read.error();
  return found;
}

Result<std::optional<RunId>> readRunId(const std::filesystem::path& path) {
  const auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  return readRunId(*reader);
}

Error holdsAnotherRun(const std::filesystem::path& path) {
  return failure(path.filename().string() +
                 " holds another run by now, as after record --force: reload it");
}

std::function<Result<void>(std::span<const std::uint8_t>)> checkOfRun(
    const std::filesystem::path& path, const std::optional<RunId>& run) {
  return [path, run](std::span<const std::uint8_t> firstFrame) -> Result<void> {
    if (!run || runIdOfFrame(firstFrame) == run) return {};
    return holdsAnotherRun(path);
  };
}

}  // namespace highwater::run
