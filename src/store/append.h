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

/// Appends the user's acceptance of a fallback (an op that runs on the CPU) to a recording whose
/// run has ended. Writes `frame`, which is the encoded `acceptance`, and a row of the table
/// accepted_fallbacks. Reads the whole file first. Fails as RecordingReader::open() does, with
/// kMalformed if the file is damaged, kNoPermission if it may not be written, kFailed if it is
/// being written or is open elsewhere, and with the errors of databaseError() and of `check`, which
/// sees the very file that is written.
[[nodiscard]] Result<void> appendAcceptance(const std::filesystem::path& path,
                                            std::span<const std::uint8_t> frame,
                                            const FallbackAcceptance& acceptance,
                                            const CheckFirstFrame& check = {});

/// Appends a note of the user to a recording whose run has ended: `frame`, which is the encoded
/// `note`, and a row of the table markers. Raises the file's format to the one that has notes.
/// Fails as appendAcceptance() does, and with kVersionMismatch for a file of format 1 or 2.
[[nodiscard]] Result<void> appendNote(const std::filesystem::path& path,
                                      std::span<const std::uint8_t> frame, const Note& note,
                                      const CheckFirstFrame& check = {});

}  // namespace highwater::store
