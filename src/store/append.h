#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::store {

/// Looks at the first frame of a recording, which is aligned to 8 bytes, or at none if it has no
/// frames; an error refuses to write into it.
using CheckFirstFrame = std::function<Result<void>(std::span<const std::uint8_t> firstFrame)>;

/// Appends a message of the user (an acceptance of a fallback, or a note) to a recording whose run
/// has ended. `frame` is the encoded `message`. Raises the format of a file from before there were
/// notes to this program's own. Reads the whole file first. Fails as RecordingReader::open() does,
/// with kMalformed if the file is damaged, kNoPermission if it may not be written, kFailed if it is
/// being written or is open elsewhere, and with the errors of databaseError() and of `check`, which
/// sees the very file that is written.
[[nodiscard]] Result<void> append(const std::filesystem::path& path,
                                  std::span<const std::uint8_t> frame, const Message& message,
                                  const CheckFirstFrame& check = {});

}  // namespace highwater::store
