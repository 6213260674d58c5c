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

struct WriterOptions {
  bool overwrite = false;
  std::chrono::milliseconds commitEvery{250};
  std::chrono::milliseconds checkpointEvery{2000};
  std::size_t maxQueuedBytes = 256u << 20;  ///< a disk that falls behind by more loses the rest
};

/// Writes a recording: a SQLite file with the validated frames as they came, in zstd batches, and
/// small tables for people (store/format.h). A thread of its own does the work; take() only queues,
/// and never blocks on the disk. Whatever was taken more than `commitEvery` ago survives a kill of
/// this process.
///
/// After an error of the disk nothing more is written, and once the queue was full nothing but the
/// end of the run: a stream with a hole in it could not be read. What is lost is counted in
/// errorText().
///
/// With `overwrite`, an old file stays as it is until the new run has begun a step (or close()
/// comes): until then the recording is a hidden file beside it, which discard() removes.
///
/// Other writers are kept away by a lock (store/writer_lock.h). A file that is deleted, replaced or
/// overwritten all the same is an error, found at the next checkpoint or by close() at the latest.
/// One that is moved is written to its end: an error of close(), unless it is back by then.
class RecordingWriter final : public MessageSink {
 public:
  /// Creates the file. kExists where there is one and `overwrite` is off, and where a running
  /// process writes it; kNoPermission, kFailed.
  [[nodiscard]] static Result<std::unique_ptr<RecordingWriter>> create(
      const std::filesystem::path& path, const WriterOptions& options = {});
  ~RecordingWriter() override;  ///< closes, ignoring errors

  /// A frame that is none (its prefix disagrees with its size) is an error, and ends the recording
  /// as a full queue does.
  void take(std::span<const std::uint8_t> frame, const Message& message) override;

  /// Writes what is queued, and closes the file without a WAL beside it. The first error of the
  /// writer's thread, if there was one (disk full, …), which names a WAL that had to stay;
  /// kNotFound where the file is gone.
  [[nodiscard]] Result<void> close();
  /// Closes and removes the file: for a run that never began.
  void discard();

  /// Size of the file and its WAL, as of the last commit.
  [[nodiscard]] std::uint64_t bytesWritten() const;
  /// The first error so far, empty where none: shown while the run goes on.
  [[nodiscard]] std::string errorText() const;
  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  struct Impl;
  explicit RecordingWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace highwater::store
