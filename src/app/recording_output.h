#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/message_sink.h"
#include "core/result.h"
#include "store/recording_writer.h"

namespace highwater::app {

/// Whether a recording can be written there: the folder exists and takes a file, and none would be
/// overwritten unless `force`, nor one that a running process writes. Leaves nothing behind.
[[nodiscard]] Result<void> checkOutput(const std::filesystem::path& path, bool force);

/// The sink of a recording that exists only once training has started: what comes before is kept in
/// memory, so that a run which never begins (a bad data file, no such device) leaves no file and
/// overwrites none.
class RecordingOutput final : public MessageSink {
 public:
  RecordingOutput(std::filesystem::path path, bool force);

  void take(std::span<const std::uint8_t> frame, const Message& message) override;

  /// Creates the file, with what was kept. Once.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] bool begun() const { return writer_ != nullptr; }
  /// The first error of writing so far, empty where none.
  [[nodiscard]] std::string errorText() const;
  /// Writes what is queued and closes; nothing to do where begin() was never called.
  [[nodiscard]] Result<void> close();
  /// With the WAL, where one is left.
  [[nodiscard]] std::uint64_t fileBytes() const;

 private:
  std::filesystem::path path_;
  bool force_;
  bool overflowed_ = false;
  std::size_t keptBytes_ = 0;
  std::vector<std::vector<std::uint8_t>> kept_;
  std::unique_ptr<store::RecordingWriter> writer_;
};

}  // namespace highwater::app
