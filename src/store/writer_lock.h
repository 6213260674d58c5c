#pragma once

#include <filesystem>

#include "core/result.h"

namespace highwater::store {

/// True if a running process is writing the recording `path`, that is, holds a WriterLock on it.
/// Does not wait. False if the file cannot be opened or is no regular file.
[[nodiscard]] bool isBeingWritten(const std::filesystem::path& path);

/// Makes the kExists error that says that another process is writing the recording `path`.
[[nodiscard]] Error beingWritten(const std::filesystem::path& path);

/// Tells every process that a file is being written: a lock on one byte of it, beyond those that
/// SQLite uses (https://www.sqlite.org/src/file/src/os.h, PENDING_BYTE). The system releases it
/// when the process ends, however it ends. Also identifies the file by itself when its name
/// changes.
///
/// Closing any descriptor of a file drops SQLite's own locks of this process on it, so release this
/// after the connection is closed.
class WriterLock {
 public:
  WriterLock() = default;
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock();

  /// Locks an existing file. Does not wait. Fails with kExists if it is locked already, also by
  /// this process; with kFailed or kNoPermission if the file cannot be opened. Succeeds without a
  /// lock on a file system that has none.
  [[nodiscard]] static Result<WriterLock> take(const std::filesystem::path& path);
  /// Releases the lock. Does nothing if there is none.
  void release();

  /// True if `path` names the locked file, or if its folder may not be searched. False if nothing
  /// is locked.
  [[nodiscard]] bool isAt(const std::filesystem::path& path) const;
  /// True if the locked file has no name any more.
  [[nodiscard]] bool isDeleted() const;

  /// Remembers the file's modification time and size, with which isTouched() compares.
  void remember();
  /// True if the file's modification time or size has changed since remember().
  [[nodiscard]] bool isTouched() const;

 private:
  struct Stamp {
    long long seconds = 0, nanoseconds = 0, bytes = 0;
    bool operator==(const Stamp&) const = default;
  };
  [[nodiscard]] Stamp stamp() const;

  int descriptor_ = -1;
  Stamp remembered_;
};

}  // namespace highwater::store
