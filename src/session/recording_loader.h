#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/message_sink.h"
#include "core/recording_condition.h"
#include "core/result.h"

namespace highwater::session {

/// Describes a recording's damage in one line for the user: "run.highwater" is damaged: …; …
/// Precondition: `condition.damage` is not empty.
[[nodiscard]] std::string damageText(const std::filesystem::path& path,
                                     const RecordingCondition& condition);

/// Replays a recording into a sink through the same decoder and validator as a live stream. The
/// sink gets no RunEnd if the recording process was killed before it wrote one.
///
/// Fails as store::RecordingReader::open() does, and with kMalformed or kVersionMismatch if a
/// message is damaged or invalid; the sink has then got the messages before it. If it succeeds, all
/// messages were replayed, and damage in the returned condition concerns other parts of the file.
/// `cancelled`, if there is one, is asked before each message; if it says so, the reading ends with
/// kFailed.
[[nodiscard]] Result<RecordingCondition> loadRecording(const std::filesystem::path& path,
                                                       MessageSink& sink,
                                                       const std::function<bool()>& cancelled = {});

}  // namespace highwater::session
