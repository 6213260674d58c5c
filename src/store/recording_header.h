#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"

/// What a recording says of itself before SQLite sees it. For the sources of store/ only.
namespace highwater::store {

struct RecordingHeader {
  std::int32_t formatVersion = 0;  ///< 1 to kFormatVersion
};

/// Reads the first page. kNotFound, kNoPermission, kVersionMismatch, kMalformed: that tells what is
/// no recording from one whose beginning is damaged or cut off.
[[nodiscard]] Result<RecordingHeader> readHeader(const std::filesystem::path& path);

/// Says how much of a file that is a recording by its header is missing at its end; empty where
/// nothing is, and where there is a WAL, which may hold the rest.
[[nodiscard]] std::string missingEnd(const std::filesystem::path& path);

/// What SQLite's "malformed" means for a file that is a recording by its header: that it is cut
/// short, or the message itself.
[[nodiscard]] Error damagedRecording(const std::filesystem::path& path, const std::string& message);

}  // namespace highwater::store
