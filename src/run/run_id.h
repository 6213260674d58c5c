#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::store {
class RecordingReader;
}  // namespace highwater::store

namespace highwater::run {

/// Identifies a run: by the process that trained, and when its clock started. Copies of a recording
/// are of the same run.
struct RunId {
  std::uint64_t processId = 0;
  std::int64_t unixEpochNs = 0, monotonicEpochNs = 0;

  bool operator==(const RunId&) const = default;
};

[[nodiscard]] RunId runIdOf(const Hello& hello);

/// The run that a recording is of; std::nullopt while its writer has written nothing yet. Fails as
/// store::RecordingReader::open() does, and with kMalformed if the beginning is damaged.
[[nodiscard]] Result<std::optional<RunId>> readRunId(const std::filesystem::path& path);
/// The same of a recording that is open.
[[nodiscard]] Result<std::optional<RunId>> readRunId(const store::RecordingReader& reader);

/// Makes the kFailed error that says that a recording's file holds another run by now.
[[nodiscard]] Error holdsAnotherRun(const std::filesystem::path& path);

/// Returns a check for the first frame of the recording `path`, which fails with holdsAnotherRun()
/// unless it is the Hello of `run`. Without a run it accepts every frame.
[[nodiscard]] std::function<Result<void>(std::span<const std::uint8_t> firstFrame)> checkOfRun(
    const std::filesystem::path& path, const std::optional<RunId>& run);

}  // namespace highwater::run
