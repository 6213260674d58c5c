#include "core/checkpoint_slots.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace highwater {
namespace {

/// The head as it is in the file. Host byte order: both processes run on one machine.
struct FileHead {
  char magic[8] = {};
  std::uint64_t generation = 0;
  std::uint64_t payloadBytes = 0;
  std::uint64_t payloadChecksum = 0;
  std::uint64_t step = 0;
  std::uint64_t headChecksum = 0;  ///< of the fields above
};
constexpr char kMagic[9] = "HWCKPT01";
constexpr off_t kPayloadAt = 64;
static_assert(sizeof(FileHead) <= kPayloadAt);
/// The checksum runs over blocks of this size; only the last one may be shorter.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

/// A checksum against damage, not against forgery: eight bytes at a time, multiplied and mixed.
std::uint64_t checksumOf(std::uint64_t before, std::span<const std::byte> bytes) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  std::uint64_t sum = before ^ bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    sum = (sum ^ word) * kOdd;
    sum ^= sum >> 29;
  }
  return sum;
}

std::uint64_t checksumOf(const FileHead& head) {
  return checksumOf(0, std::as_bytes(std::span(&head, 1)).first(offsetof(FileHead, headChecksum)));
}

Error systemFailure(const std::string& what) {
  return failure(what + ": " + std::strerror(errno));
}

Error damaged(const std::string& how) {
  return {ErrorCode::kMalformed, "the checkpoint " + how};
}

/// The number of bytes read, fewer than `size` only at the end of the file; -1: an error.
ssize_t readAt(int fd, void* target, std::size_t size, off_t at) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd, static_cast<char*>(target) + done, size - done, at + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

bool writeAt(int fd, const void* source, std::size_t size, off_t at) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pwrite(fd, static_cast<const char*>(source) + done, size - done,
                               at + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

struct CheckpointSlots::Slot {
  int fd = -1;
  CheckpointHead head;
  std::uint64_t payloadChecksum = 0;
};

Result<CheckpointSlots::Slot> CheckpointSlots::headOf(int fd) const {
  FileHead head;
  const ssize_t n = readAt(fd, &head, sizeof head, 0);
  if (n < 0) return systemFailure("the checkpoint cannot be read");
  const FileHead none;
  const bool empty = n == 0 || std::memcmp(head.magic, none.magic, sizeof head.magic) == 0;
  if (empty) return Error{ErrorCode::kNotFound, "there is no checkpoint"};
  if (n < static_cast<ssize_t>(sizeof head)) {
    return damaged("is truncated: it has " + std::to_string(n) + " bytes, and its head alone " +
                   std::to_string(sizeof head));
  }
  if (std::memcmp(head.magic, kMagic, sizeof head.magic) != 0) {
    return damaged("is of another version of Highwater, or no checkpoint");
  }
  if (head.headChecksum != checksumOf(head)) {
    return damaged("is damaged: the checksum of its head does not match");
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0) return systemFailure("the checkpoint cannot be read");
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size - kPayloadAt));
  if (size < head.payloadBytes) {
    return damaged("is truncated: it has " + std::to_string(size) + " of " +
                   std::to_string(head.payloadBytes) + " bytes");
  }
  return Slot{fd,
              {head.generation, static_cast<std::uint32_t>(head.step), head.payloadBytes},
              head.payloadChecksum};
}

/// The slots with a sound head. `problem` tells why a slot has none, rather than that it is empty.
std::vector<CheckpointSlots::Slot> CheckpointSlots::newestFirst(Error& problem) const {
  std::vector<Slot> whole;
  problem = {ErrorCode::kNotFound, "there is no checkpoint"};
  for (const int fd : fds_) {
    auto slot = headOf(fd);
    if (slot) {
      whole.push_back(*slot);
    } else if (slot.error().code != ErrorCode::kNotFound) {
      problem = slot.error();
    }
  }
  std::sort(whole.begin(), whole.end(),
            [](const Slot& a, const Slot& b) { return a.head.generation > b.head.generation; });
  return whole;
}

Result<CheckpointHead> CheckpointSlots::newestHead() const {
  Error problem;
  const auto whole = newestFirst(problem);
  if (whole.empty()) return problem;
  return whole.front().head;
}

Result<CheckpointSlots::Reader> CheckpointSlots::Reader::open(const CheckpointSlots& files) {
  Error problem;
  std::vector<std::byte> block(kBlockBytes);
  bool isNewest = true;
  for (const Slot& slot : files.newestFirst(problem)) {
    std::uint64_t sum = 0;
    std::uint64_t at = 0;
    bool readable = true;
    while (readable && at < slot.head.payloadBytes) {
      const std::size_t size = std::min<std::uint64_t>(kBlockBytes, slot.head.payloadBytes - at);
      const ssize_t n = readAt(slot.fd, block.data(), size, kPayloadAt + static_cast<off_t>(at));
      readable = n == static_cast<ssize_t>(size);
      sum = checksumOf(sum, std::span(block).first(size));
      at += size;
    }
    if (readable && sum == slot.payloadChecksum) return Reader(slot.fd, slot.head);
    if (isNewest) {
      problem = damaged(readable ? "is damaged: its checksum does not match"
                                 : "cannot be read to its end");
    }
    isNewest = false;
  }
  return problem;
}

Result<void> CheckpointSlots::Reader::read(void* target, std::size_t size) {
  if (size > left()) return damaged("ends too early");
  const ssize_t n = readAt(fd_, target, size, kPayloadAt + static_cast<off_t>(at_));
  if (n != static_cast<ssize_t>(size)) return damaged("cannot be read to its end");
  at_ += size;
  return {};
}

Result<CheckpointSlots::Writer> CheckpointSlots::Writer::begin(const CheckpointSlots& files,
                                                               std::uint32_t step) {
  Error problem;
  const auto whole = files.newestFirst(problem);
  int fd = files.fds_[0];
  std::uint64_t generation = 1;
  if (!whole.empty()) {
    fd = whole.front().fd == files.fds_[0] ? files.fds_[1] : files.fds_[0];
    generation = whole.front().head.generation + 1;
  }
  const FileHead none;
  if (!writeAt(fd, &none, sizeof none, 0)) {
    return systemFailure("the checkpoint cannot be written");
  }
  return Writer(fd, {generation, step, 0});
}

Result<void> CheckpointSlots::Writer::append(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (size > 0) {
    const std::size_t part = std::min(size, kBlockBytes - block_.size());
    block_.insert(block_.end(), at, at + part);
    at += part;
    size -= part;
    if (block_.size() < kBlockBytes) continue;
    if (auto written = flush(); !written) return written;
  }
  return {};
}

Result<void> CheckpointSlots::Writer::flush() {
  const off_t at = kPayloadAt + static_cast<off_t>(head_.payloadBytes);
  if (!writeAt(fd_, block_.data(), block_.size(), at)) {
    return systemFailure("the checkpoint cannot be written");
  }
  checksum_ = checksumOf(checksum_, block_);
  head_.payloadBytes += block_.size();
  block_.clear();
  return {};
}

Result<void> CheckpointSlots::Writer::commit() {
  if (!block_.empty()) {
    if (auto written = flush(); !written) return written;
  }
  FileHead head;
  std::memcpy(head.magic, kMagic, sizeof head.magic);
  head.generation = head_.generation;
  head.payloadBytes = head_.payloadBytes;
  head.payloadChecksum = checksum_;
  head.step = head_.step;
  head.headChecksum = checksumOf(head);
  // What an older, larger checkpoint has left.
  const bool cut = ::ftruncate(fd_, kPayloadAt + static_cast<off_t>(head_.payloadBytes)) == 0;
  if (!cut || !writeAt(fd_, &head, sizeof head, 0)) {
    return systemFailure("the checkpoint cannot be written");
  }
  return {};
}

}  // namespace highwater
