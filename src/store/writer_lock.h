#pragma once

#include <filesystem>

#include "core/result.h"

namespace highwater::store {

/// True where a running process holds a WriterLock on the file. Takes nothing and waits for nobody;
/// opens nothing but regular files.
[[nodiscard]] bool isBeingWritten(const std::filesystem::path& path);

/// What a second writer is told.
[[nodiscard]] Error beingWritten(const std::filesystem::path& path);

/// Says to every process that a file is being written: a lock on one byte of it, beyond those that
/// SQLite uses (https://www.sqlite.org/src/file/src/os.h, PENDING_BYTE), which the system takes
/// back when the process ends, however it ends. Also knows the file itself, whatever happens to its
/// name.
///
/// Closing any descriptor of a file drops SQLite's own locks of this process on it: release this
/// after the connection is closed.
class WriterLock {
 public:
  WriterLock() = default;
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock();

  /// kExists (see beingWritten()) where somebody has it, also within this process; kFailed and
  /// kNoPermission where the file cannot be opened. On a file system without locks nobody has it.
  [[nodiscard]] static Result<WriterLock> take(const std::filesystem::path& path);
  void release();

  /// Whether `path` names the locked file; false where nothing is locked. Where the folder may not
  /// be looked into, it is taken to.
  [[nodiscard]] bool isAt(const std::filesystem::path& path) const;
  /// Whether the locked file has no name any more.
  [[nodiscard]] bool isDeleted() const;

  /// Keeps time of change and size of the file, for isTouched().
  void remember();
  /// Whether the file was written since remember().
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
