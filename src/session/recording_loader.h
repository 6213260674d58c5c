#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/message_sink.h"
#include "core/result.h"

namespace highwater::session {

/// What is to be known of a recording beside its stream.
struct RecordingCondition {
  bool beingWritten = false;        ///< by a running process, when it was opened
  std::vector<std::string> damage;  ///< what is wrong with its tables, as of RecordingReader
};

/// "\"run.highwater\" is damaged: its table …; its table …". Precondition: there is damage.
[[nodiscard]] std::string damageText(const std::filesystem::path& path,
                                     const RecordingCondition& condition);

/// Replays a recording into a sink through the same decoder and validator as a live stream. A
/// recording whose run was killed before it could say so has no RunEnd: none is invented.
///
/// Where it returns an error (kMalformed: the stream is damaged), the sink has what came before.
/// `damage` does not touch the stream: all of it was replayed.
[[nodiscard]] Result<RecordingCondition> loadRecording(const std::filesystem::path& path,
                                                       MessageSink& sink);

}  // namespace highwater::session
