#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/events_generated.h"
#include "core/result.h"

namespace highwater::store {

/// Reads a recording. The file may be hostile: SQLite runs in defensive mode, does not trust the
/// schema, and every size has a limit. The frames' contents are not checked here but in wire/.
class RecordingReader {
 public:
  /// Opens a recording. Also opens what can still be read of a damaged one: the file of a killed
  /// run with its write-ahead log (WAL), also in a read-only folder, and the beginning of a file
  /// that is cut short. Fails with kNotFound or kNoPermission, with kVersionMismatch if the format
  /// is newer than this program, with kMalformed if the file is no recording or its beginning is
  /// damaged, and with kFailed or kOutOfMemory if SQLite cannot open it.
  [[nodiscard]] static Result<RecordingReader> open(const std::filesystem::path& path);
  RecordingReader(RecordingReader&&) noexcept;
  RecordingReader& operator=(RecordingReader&&) noexcept;
  ~RecordingReader();

  using VisitFrame = std::function<Result<void>(std::span<const std::uint8_t>)>;
  using VisitBatch = std::function<void(std::int64_t batch)>;

  /// Calls `visit` for each frame (encoded message), in the order of the stream. Ends at the first
  /// error that `visit` returns, and returns it. A frame is aligned to 8 bytes and valid only
  /// during the call. `batchBegins`, if there is one, is told of each batch before its frames:
  /// see batchCount(). Neither may call this reader: another thread reads ahead. Fails with
  /// kMalformed if a batch of frames is damaged, and where the file holds more than one of its size
  /// can: see kMostInflation.
  [[nodiscard]] Result<void> forEachFrame(const VisitFrame& visit,
                                          const VisitBatch& batchBegins = {}) const;
  /// The number of batches of frames, by which forEachFrameOf() counts. Fails with kMalformed.
  [[nodiscard]] Result<std::int64_t> batchCount() const;
  /// The batches with events of `kind` that touch [beginNs, endNs), in order.
  [[nodiscard]] Result<std::vector<std::int64_t>> batchesWith(events::EventKind kind,
                                                              std::int64_t beginNs,
                                                              std::int64_t endNs) const;
  /// Like forEachFrame(), for the frames of one batch: 1 is the stream's first, batchCount() its
  /// last.
  [[nodiscard]] Result<void> forEachFrameOf(std::int64_t batch, const VisitFrame& visit) const;

  /// True if a running process was writing the recording when it was opened.
  [[nodiscard]] bool beingWritten() const;
  /// What the recording lacks at its end, one message each: that is in a write-ahead log (WAL) that
  /// is absent, damaged or unreadable, or the file is cut short. Empty if it is whole. Damage in
  /// between shows when the frames are read.
  [[nodiscard]] const std::vector<std::string>& lostEnd() const;

  /// The size of the file and its write-ahead log (WAL), in bytes.
  [[nodiscard]] std::uint64_t fileBytes() const;

 private:
  struct Impl;
  explicit RecordingReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace highwater::store
