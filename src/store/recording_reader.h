#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace highwater::store {

/// Reads a recording. It treats the file as hostile: defensive mode, no trusted schema, limits on
/// every size. What the frames say is judged by wire/, not here.
class RecordingReader {
 public:
  /// kNotFound, kNoPermission, kMalformed (not a recording, or one that is damaged from its
  /// beginning on), kVersionMismatch (a newer format). A file that a killed run left behind opens,
  /// with everything that was committed; one that is cut short, with what is there.
  [[nodiscard]] static Result<RecordingReader> open(const std::filesystem::path& path);
  RecordingReader(RecordingReader&&) noexcept;
  RecordingReader& operator=(RecordingReader&&) noexcept;
  ~RecordingReader();

  /// Calls `visit` for each frame in the order they came, until one returns an error, which is
  /// returned. The frame is aligned to 8 bytes and valid during the call.
  [[nodiscard]] Result<void> forEachFrame(
      const std::function<Result<void>(std::span<const std::uint8_t>)>& visit) const;

  /// Whether a running process wrote it when it was opened.
  [[nodiscard]] bool beingWritten() const;
  /// What is wrong with its tables, a line each: see store/damage.h. Reads the whole file.
  [[nodiscard]] std::vector<std::string> findDamage() const;

  [[nodiscard]] std::uint64_t fileBytes() const;

 private:
  struct Impl;
  explicit RecordingReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace highwater::store
