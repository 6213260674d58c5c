#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/result.h"
#include "store/recording_wal.h"
#include "store/writer_lock.h"

namespace highwater::store {

/// What SQLite appends to the name of a database to name the files that it keeps beside it. Without
/// them, a recording whose writer was killed loses its end.
inline constexpr std::array<std::string_view, 3> kCompanionSuffixes{kWalSuffix, "-shm", "-journal"};

/// Removes the files that SQLite keeps beside a database. Ignores errors.
void removeCompanions(const std::filesystem::path& database);
/// The size of a SQLite file and its write-ahead log (WAL), in bytes. A file that does not exist
/// counts 0.
[[nodiscard]] std::uint64_t sizeWithWal(const std::filesystem::path& database);

/// Copies a recording that nobody writes, with its WAL if it has one, over `to`. Fails with kFailed
/// and the system's reason.
[[nodiscard]] Result<void> copyRecording(const std::filesystem::path& from,
                                         const std::filesystem::path& to);

/// Checks the length of a recording's file name. Fails with kFailed if it is too long for the files
/// that SQLite keeps beside it, whose names are longer.
[[nodiscard]] Result<void> checkNameLength(const std::filesystem::path& path);

/// The file of a recording while it is written, and the lock on it. If no file has the name, the
/// recording has it from the start. If a file is to be overwritten, the recording begins as a
/// hidden file beside it, `.NAME.PID.new`, and moveIntoPlace() gives it the name, so that a run
/// which fails to start does not cost the old file. Until then the old file is locked too, so that
/// no other writer takes its place.
class RecordingFile {
 public:
  /// Creates the empty file and locks it. Removes hidden files that killed writers of the same name
  /// left behind. Fails with kExists if the file exists and `overwrite` is false, if it is not a
  /// recording, or if a process writes it; with kNoPermission or kFailed if it cannot be created.
  [[nodiscard]] static Result<RecordingFile> create(const std::filesystem::path& path,
                                                    bool overwrite);

  /// The path that the caller of create() asked for.
  [[nodiscard]] const std::filesystem::path& target() const { return target_; }
  /// The path of the file now: target(), or the hidden file before moveIntoPlace().
  [[nodiscard]] const std::filesystem::path& current() const { return current_; }
  /// True if the file has the name that the caller of create() asked for.
  [[nodiscard]] bool inPlace() const { return target_ == current_; }

  /// Gives the hidden file its name, and so replaces the old file. Does nothing if inPlace(). Fails
  /// with kFailed if the name belongs to another file by now, if the write-ahead log is not empty,
  /// or if the system refuses; the message names the hidden file. Precondition: no SQLite
  /// connection to the file is open.
  [[nodiscard]] Result<void> moveIntoPlace();
  /// Checks that the file still has its name. Fails with kNotFound if somebody deleted, moved or
  /// replaced it; the message says which.
  [[nodiscard]] Result<void> checkPlace() const;
  /// True if current() names another file by now.
  [[nodiscard]] bool isReplaced() const;
  /// The lock that keeps other writers away from the file.
  [[nodiscard]] WriterLock& lock() { return lock_; }
  [[nodiscard]] const WriterLock& lock() const { return lock_; }

  /// Removes the new file and its companions, but no other file that took its place.
  void remove() const;
  /// Releases the locks on the new and the old file. Precondition: no SQLite connection to the file
  /// is open.
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
