#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace highwater {

/// What is known of a checkpoint without reading it.
struct CheckpointHead {
  std::uint64_t generation = 0;  ///< of several checkpoints the highest is the newest
  std::uint32_t step = 0;        ///< the last step trained before it
  std::uint64_t payloadBytes = 0;
};

/// Two files that take turns in holding the newest checkpoint of a training, so that a process that
/// dies while it writes one leaves the other whole. A file has a head with checksums, which is
/// written last, and the payload. The descriptors are shared by the worker that writes, its host
/// and the next worker: no file offset is used. Not thread-safe.
class CheckpointSlots {
 public:
  /// The descriptors must be open for reading and writing and outlive this object.
  explicit CheckpointSlots(std::array<int, 2> descriptors) : fds_(descriptors) {}

  /// The head of the newest checkpoint whose file is complete. The payload is not read, so that
  /// this takes no time. Errors: those of Reader::open().
  [[nodiscard]] Result<CheckpointHead> newestHead() const;

  /// Reads the payload of a checkpoint in order.
  class Reader {
   public:
    /// Opens the newest checkpoint that is whole; reads it all, to compare its checksum. Errors:
    /// kNotFound where none was ever completed; kMalformed where all that there are were damaged,
    /// truncated or written by another version, which the message tells of the newest.
    [[nodiscard]] static Result<Reader> open(const CheckpointSlots& files);

    [[nodiscard]] const CheckpointHead& head() const { return head_; }
    /// Reads the next `size` bytes. Error: kMalformed where fewer are left.
    [[nodiscard]] Result<void> read(void* target, std::size_t size);
    /// The bytes of the payload that are not read yet.
    [[nodiscard]] std::uint64_t left() const { return head_.payloadBytes - at_; }

   private:
    Reader(int fd, CheckpointHead head) : fd_(fd), head_(head) {}
    int fd_;
    CheckpointHead head_;
    std::uint64_t at_ = 0;
  };

  /// Writes a checkpoint over the older one. Until commit() has succeeded the newer one stays the
  /// newest, and without commit() the file holds none.
  class Writer {
   public:
    /// Error: kFailed with the system's reason.
    [[nodiscard]] static Result<Writer> begin(const CheckpointSlots& files, std::uint32_t step);

    /// Adds to the payload. Error: kFailed with the system's reason, as for a full disk.
    [[nodiscard]] Result<void> append(const void* bytes, std::size_t size);
    /// Completes the checkpoint. Error: kFailed with the system's reason.
    [[nodiscard]] Result<void> commit();

   private:
    Writer(int fd, CheckpointHead head) : fd_(fd), head_(head) {}
    Result<void> flush();
    int fd_;
    CheckpointHead head_;
    std::uint64_t checksum_ = 0;
    std::vector<std::byte> block_;
  };

 private:
  struct Slot;
  [[nodiscard]] Result<Slot> headOf(int fd) const;
  [[nodiscard]] std::vector<Slot> newestFirst(Error& problem) const;

  std::array<int, 2> fds_;
};

}  // namespace highwater
