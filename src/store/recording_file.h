#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "store/writer_lock.h"

namespace highwater::store {

/// Removes a SQLite file's companions (-wal, -shm, -journal).
void removeCompanions(const std::filesystem::path& database);
/// The name of a SQLite file's WAL.
[[nodiscard]] std::filesystem::path walOf(const std::filesystem::path& database);
/// The size of a SQLite file and its WAL; 0 where there is none.
[[nodiscard]] std::uint64_t sizeWithWal(const std::filesystem::path& database);

/// The place of a recording while it is written, and the lock that says so. A new name is taken at
/// once. Where a file is to be overwritten, the recording begins as a hidden file beside it,
/// `.NAME.PID.new`, and takes the name in moveIntoPlace(): so the old file is lost only to a
/// recording that holds something. Until then the old file is locked as well, so that no other
/// writer takes its place.
class RecordingFile {
 public:
  /// Creates the empty file. kExists (also where it is being written), kNoPermission, or kFailed
  /// with the reason.
  [[nodiscard]] static Result<RecordingFile> create(const std::filesystem::path& path,
                                                    bool overwrite);

  /// The name that was asked for; where the file is now.
  [[nodiscard]] const std::filesystem::path& target() const { return target_; }
  [[nodiscard]] const std::filesystem::path& current() const { return current_; }
  [[nodiscard]] bool inPlace() const { return target_ == current_; }

  /// Replaces the old file. Precondition: no connection is open. Does nothing where in place.
  /// kFailed, with where the recording is, where another file has come to the name meanwhile.
  [[nodiscard]] Result<void> moveIntoPlace();
  /// Whether somebody deleted, moved or replaced the file: kNotFound with what happened to it.
  [[nodiscard]] Result<void> checkPlace() const;
  /// Whether what its name names now, if anything, is another file.
  [[nodiscard]] bool isReplaced() const;
  [[nodiscard]] WriterLock& lock() { return lock_; }
  [[nodiscard]] const WriterLock& lock() const { return lock_; }

  /// Removes the new file (never the old one, nor one that took its place) and its companions.
  void remove() const;
  /// Precondition: no connection is open.
  void release();

 private:
  RecordingFile(std::filesystem::path target, std::filesystem::path current, WriterLock lock,
                WriterLock oldLock)
      : target_(std::move(target)),
        current_(std::move(current)),
        lock_(std::move(lock)),
        oldLock_(std::move(oldLock)) {}

  [[nodiscard]] static Result<RecordingFile> createNew(const std::filesystem::path& path);
  [[nodiscard]] static Result<RecordingFile> createBeside(const std::filesystem::path& path);

  std::filesystem::path target_, current_;
  WriterLock lock_, oldLock_;
};

}  // namespace highwater::store
