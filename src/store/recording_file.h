#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.h"

namespace highwater::store {

/// Removes a SQLite file's companions (-wal, -shm, -journal).
void removeCompanions(const std::filesystem::path& database);
/// The size of a SQLite file and its WAL; 0 where there is none.
[[nodiscard]] std::uint64_t sizeWithWal(const std::filesystem::path& database);

/// The place of a recording while it is written. A new name is taken at once. Where a file is to be
/// overwritten, the recording begins as a hidden file beside it, `.NAME.PID.new`, and takes the
/// name in moveIntoPlace(): so the old file is lost only to a recording that holds something.
class RecordingFile {
 public:
  /// Creates the empty file. kExists, kNoPermission, or kFailed with the reason.
  [[nodiscard]] static Result<RecordingFile> create(const std::filesystem::path& path,
                                                    bool overwrite);

  /// The name that was asked for; where the file is now.
  [[nodiscard]] const std::filesystem::path& target() const { return target_; }
  [[nodiscard]] const std::filesystem::path& current() const { return current_; }
  [[nodiscard]] bool inPlace() const { return target_ == current_; }

  /// Replaces the old file. Precondition: no connection is open. Does nothing where in place.
  [[nodiscard]] Result<void> moveIntoPlace();
  /// Removes the new file (never the old one) and its companions.
  void remove() const;

 private:
  RecordingFile(std::filesystem::path target, std::filesystem::path current)
      : target_(std::move(target)), current_(std::move(current)) {}
  std::filesystem::path target_, current_;
};

}  // namespace highwater::store
