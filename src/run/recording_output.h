#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/message_sink.h"
#include "core/result.h"
#include "store/recording_writer.h"

namespace highwater::run {

/// Checks that a recording can be written to `path`: the folder exists and takes a file, the name
/// is not too long, no file exists there unless `force`, and no running process writes it. Fails
/// with kUsage, kNotFound, kExists, kNoPermission, kFailed. Leaves nothing behind.
[[nodiscard]] Result<void> checkOutput(const std::filesystem::path& path, bool force);

/// Allows an export to replace what is at `path` where the user wants that, but never a file that
/// was named by mistake: one that is not empty and is no `kind` ("picture"), as `isOfKind` says by
/// its content. Fails with kExists, and with kFailed for what is not a regular file.
[[nodiscard]] Result<void> checkReplaced(const std::filesystem::path& path, bool overwrites,
                                         std::string_view kind,
                                         bool (*isOfKind)(const std::filesystem::path&));

/// A name in the current folder for a recording of `what`, a scenario or a workload, by the time:
/// "clean-20260314-150926.highwater". No file has it.
[[nodiscard]] std::string newOutputName(const std::string& what);

/// A name for the recording of the run that continues the one of `output`: "run-2.highwater" beside
/// "run.highwater", or the next number whose name no file has.
[[nodiscard]] std::string continuationName(const std::filesystem::path& output);

/// The file of a recording.
struct RecordingTarget {
  enum class Begins : std::uint8_t { kAtOnce, kWithTraining };

  std::filesystem::path path;
  bool overwrites = false;
  /// When the file is made. With the training: a run which never trains (a bad data file, no such
  /// device) neither leaves nor overwrites a file.
  Begins begins = Begins::kWithTraining;
};

/// Writes a run's messages to a recording that is created by begin(). Messages that come before are
/// kept in memory.
class RecordingOutput final : public MessageSink {
 public:
  explicit RecordingOutput(RecordingTarget target) : target_(std::move(target)) {}

  void take(std::span<const std::uint8_t> frame, const Message& message) override;

  /// Creates the recording and writes the messages kept so far. Call it once. Fails as
  /// RecordingWriter::create() does, and with kFailed if there were more than 64 MiB of them.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] bool begun() const { return writer_ != nullptr; }
  /// Why writing has failed, for the user; empty if it has not, and before begin().
  [[nodiscard]] std::string errorText() const;
  /// Completes the recording, with the errors of RecordingWriter::close(). Does nothing without
  /// begin().
  [[nodiscard]] Result<void> close();
  /// Removes the recording, of a run that never began; an old file stays. Does nothing without
  /// begin().
  void discard();
  /// Size in bytes of the recording and its write-ahead log (WAL); 0 before begin().
  [[nodiscard]] std::uint64_t fileBytes() const;

 private:
  RecordingTarget target_;
  bool overflowed_ = false;
  std::size_t keptBytes_ = 0;
  std::vector<std::vector<std::uint8_t>> kept_;
  std::unique_ptr<store::RecordingWriter> writer_;
};

}  // namespace highwater::run
