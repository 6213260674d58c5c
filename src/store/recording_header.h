#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

/// The header of a recording, read without SQLite. For the sources of store/ only.
namespace highwater::store {

/// How the error of a damaged recording ends that holds no readable frame.
inline constexpr std::string_view kNothingRead = "; nothing could be read";

/// What the SQLite header of a recording says.
struct RecordingHeader {
  bool inWalMode = false;  ///< it is being written, or its writer never closed it
};

/// Reads the header of a recording. Fails with kNotFound or kNoPermission, with kVersionMismatch if
/// the format is newer than this program, and with kMalformed if the file is no recording, or its
/// beginning is damaged or cut off; the message says which.
[[nodiscard]] Result<RecordingHeader> readHeader(const std::filesystem::path& path);

/// True for a recording, whole or damaged, and for an empty file; false for a file of another kind.
[[nodiscard]] bool mayBeRecording(const std::filesystem::path& path);

/// Describes how many bytes a recording lacks at its end, compared with the size in its header.
/// Empty if it lacks none, or if it has a write-ahead log (WAL), which may hold them.
[[nodiscard]] std::string missingEnd(const std::filesystem::path& path);

/// Makes the kMalformed error for a recording that SQLite could not read. Its text is missingEnd(),
/// or `message` if the end is not missing.
[[nodiscard]] Error damagedRecording(const std::filesystem::path& path, const std::string& message);

}  // namespace highwater::store
