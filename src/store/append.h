#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::store {

/// Adds the user's word on a fallback to a recording whose run is over: one more frame behind the
/// others, and its row in the table for people. `frame` is the encoded message. What
/// RecordingReader::open() refuses is refused, and what findDamage() finds something in
/// (kMalformed: the whole file is read); kNoPermission where the file may not be written; kFailed
/// where a run still writes it or somebody reads it.
[[nodiscard]] Result<void> appendAcceptance(const std::filesystem::path& path,
                                            std::span<const std::uint8_t> frame,
                                            const FallbackAcceptance& acceptance);

}  // namespace highwater::store
