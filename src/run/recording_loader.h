#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/message_sink.h"
#include "core/recording_condition.h"
#include "core/result.h"
#include "run/run_id.h"
#include "wire/validator.h"

namespace highwater::run {

/// Describes a recording's damage in one line for the user: "run.highwater" is damaged: …; …
/// Precondition: `condition.damage` is not empty.
[[nodiscard]] std::string damageText(const std::filesystem::path& path,
                                     const RecordingCondition& condition);

/// How far a recording has been read, so that more of it can be read once it is written.
struct ReadSoFar {
  wire::Validator validator{wire::StreamSource::kRecording};
  std::int64_t batches = 0;  ///< of frames, all of them checked by `validator`
};

/// What the one who waits for a recording has to do with its reading. Each function may be empty,
/// and is called on the thread that reads.
struct LoadControl {
  std::function<bool()> cancelled;         ///< asked before each message; true ends the reading
  std::function<void(double)> progressed;  ///< told the share of the recording that has been read
  std::shared_ptr<ReadSoFar> soFar = {};   ///< filled for readOn(), if it is there
  std::optional<RunId> of = {};            ///< readOps() fails if the file is of another run by now
  /// How many bytes of samples and events may be read, ops apart, which a LiveStore drops. 0:
  /// what takes half of the machine's memory.
  std::uint64_t mostBytes = 0;
};

/// Replays a recording into a sink through the same decoder and validator as a live stream. The
/// sink gets no RunEnd if the recording process was killed before it wrote one.
///
/// Fails as store::RecordingReader::open() does, and with kMalformed or kVersionMismatch if a
/// message is damaged or invalid; the sink has then got the messages before it. If it succeeds, all
/// messages were replayed, and damage in the returned condition concerns the end of the file.
/// If `control` cancels it, the reading ends with kFailed.
[[nodiscard]] Result<RecordingCondition> loadRecording(const std::filesystem::path& path,
                                                       MessageSink& sink,
                                                       const LoadControl& control = {});

/// Like loadRecording(), for those who show a recording: where its messages are damaged, or more
/// than LoadControl::mostBytes, it succeeds with what came before, and the condition is
/// RecordingCondition::cutOff. Fails if not even the run's Hello could be read, and for all other
/// reasons of loadRecording().
[[nodiscard]] Result<RecordingCondition> loadReadablePart(const std::filesystem::path& path,
                                                          MessageSink& sink,
                                                          const LoadControl& control = {});

/// Replays what another process has written into a recording since it was read. Returns whether it
/// is still being written. Reads at most `mostBatches` batches of frames: more may be there. Fails
/// as loadRecording() does, and with kFailed if the file is of another run than `of` by now.
[[nodiscard]] Result<bool> readOn(const std::filesystem::path& path, ReadSoFar& soFar,
                                  MessageSink& sink, std::int64_t mostBatches,
                                  const std::optional<RunId>& of = std::nullopt);

/// Replays only some of a recording, so that a large one can be looked at before it is read: the
/// first batch of frames, the last, and others spread evenly between them, as many as can be read
/// in `milliseconds`, but no more than every fourth. Of their events the sink gets steps and the
/// samples of memory and system, in order of time. Fails as loadRecording() does, for what it
/// reads.
[[nodiscard]] Result<void> loadOverview(const std::filesystem::path& path, MessageSink& sink,
                                        int milliseconds, const LoadControl& control = {});

/// The ops of a recording that touch [beginNs, endNs), and more: whole batches of frames. An id of
/// them may be undefined: its text is "unknown" (DefinitionTable). std::nullopt if there are more
/// than `most` of them. Fails as loadRecording() does, for what it reads.
[[nodiscard]] Result<std::optional<std::vector<events::OpSpan>>> readOps(
    const std::filesystem::path& path, std::int64_t beginNs, std::int64_t endNs, std::size_t most,
    const LoadControl& control = {});

}  // namespace highwater::run
