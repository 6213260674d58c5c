#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "run/run_id.h"

namespace highwater::run {

/// Makes a note of the user at `timeNs`, the time since the start of the run, in step `step`. Trims
/// the text, and writes "Note" for an empty one. Dates it now. Fails with kUsage if the text is
/// longer than 64 KiB.
[[nodiscard]] Result<Note> makeNote(std::int64_t timeNs, std::uint32_t step,
                                    const std::string& text);

/// Appends a note to a recording whose run has ended. Fails as store::append() does, for example
/// with kFailed if the recording is being written or is open elsewhere, or if the file holds
/// another run than `of`.
[[nodiscard]] Result<void> appendNote(const std::filesystem::path& recording, const Note& note,
                                      const std::optional<RunId>& of = std::nullopt);

}  // namespace highwater::run
