#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "core/message_sink.h"
#include "core/result.h"

namespace highwater::store {

/// Settings of a RecordingWriter.
struct WriterOptions {
  bool overwrite = false;
  std::chrono::milliseconds commitEvery{50};  ///< how long a frame waits for others before a commit
  std::chrono::milliseconds checkpointEvery{2000};  ///< how often the WAL goes into the file
  std::size_t maxQueuedBytes = 256u << 20;          ///< of frames that wait for the disk
};

/// Writes a recording (store/format.h) on a thread of its own. take() only queues and never waits
/// for the disk. Frames taken more than 250 ms ago survive a kill of this process
/// (tests/reliability).
///
/// A disk error ends the recording. If the queue exceeds `maxQueuedBytes`, only the end of the run
/// is still recorded, since a stream with a hole in it could not be read. errorText() counts the
/// frames that were lost. The writer ignores SIGXFSZ, so that the limit of a file's size is an
/// error as well.
///
/// With `overwrite`, an existing file stays as it is until the new run has begun a step, or until
/// close(). Until then the recording is a hidden file beside it, which discard() removes.
///
/// A lock (store/writer_lock.h) keeps other writers away. If the file is nevertheless deleted,
/// replaced or overwritten, that is an error, found at the next checkpoint or by close() at the
/// latest. A file that is moved is written to its end; unless it is back in its place by then,
/// close() returns an error.
class RecordingWriter final : public MessageSink {
 public:
  /// Creates the file and starts the writer's thread. Fails with kExists if the file exists and
  /// `overwrite` is false, if it is not a recording, or if a process writes it; with kNoPermission
  /// or kFailed if it cannot be created.
  [[nodiscard]] static Result<std::unique_ptr<RecordingWriter>> create(
      const std::filesystem::path& path, const WriterOptions& options = {});
  ~RecordingWriter() override;  ///< closes, ignoring errors

  /// Queues a message's frame for writing; never waits for the disk. Errors appear in errorText()
  /// and in the result of close(). A frame whose prefix disagrees with its size is an error that
  /// ends the recording.
  void take(std::span<const std::uint8_t> frame, const Message& message) override;

  /// Writes all queued frames and closes the file. Waits for the disk. Fails with the first error
  /// of the whole recording; that is kNotFound if the file was deleted, moved or replaced. Also
  /// fails if the write-ahead log (WAL) could not be merged into the file: the WAL stays, and the
  /// message names it. Otherwise the WAL is gone, unless somebody is reading the file.
  [[nodiscard]] Result<void> close();
  /// Closes and removes the file, for a run that never began. An old file that was to be
  /// overwritten stays.
  void discard();

  /// The size of the file and its write-ahead log (WAL) in bytes, as of the last commit.
  [[nodiscard]] std::uint64_t bytesWritten() const;
  /// The message of the first error so far, with the number of frames lost; empty if there is none.
  /// Any thread may call it.
  [[nodiscard]] std::string errorText() const;
  /// The path that was given to create(). A recording that overwrites a file has it only after the
  /// run's first step.
  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  struct Impl;
  explicit RecordingWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace highwater::store
