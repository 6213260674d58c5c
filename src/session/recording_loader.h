#pragma once

#include <filesystem>
#include <functional>

#include "core/message_sink.h"
#include "core/result.h"

namespace highwater::session {

/// Replays a recording into a sink through the same decoder and validator as a live stream. A
/// recording whose run was killed before it could say so has no RunEnd: none is invented.
[[nodiscard]] Result<void> loadRecording(const std::filesystem::path& path, MessageSink& sink);

}  // namespace highwater::session
