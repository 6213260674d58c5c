#include "store/recording_wal.h"

#include <array>
#include <bit>
#include <cstdint>
#include <fstream>
#include <span>
#include <system_error>
#include <vector>

#include "store/big_endian.h"
#include "store/quoted.h"

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

// https://www.sqlite.org/fileformat.html#the_write_ahead_log
constexpr std::uint32_t kWalMagic = 0x377f0682;  // the last bit: words of checksums are big-endian
constexpr std::size_t kWalHeaderBytes = 32, kPageHeaderBytes = 24;

using Bytes = std::span<const std::uint8_t>;

struct Checksum {
  std::uint32_t first = 0, second = 0;
  bool operator==(const Checksum&) const = default;

  void add(Bytes bytes, bool bigEndianWords) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += word(bytes, at, bigEndianWords) + second;
      second += word(bytes, at + 4, bigEndianWords) + first;
    }
  }
  static Checksum stored(Bytes bytes, std::size_t at) {
    return {bigEndian(bytes, at), bigEndian(bytes, at + 4)};
  }

 private:
  static std::uint32_t word(Bytes bytes, std::size_t at, bool isBigEndian) {
    const std::uint32_t value = bigEndian(bytes, at);
    return isBigEndian
               ? value
               : value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
  }
};

/// Reads a WAL page by page.
class WalFile {
 public:
  explicit WalFile(const fs::path& path) : file_(path, std::ios::binary) {
    const bool whole = read(header_);
    magic_ = bigEndian(header_, 0);
    pageSize_ = bigEndian(header_, 8);
    Checksum sum;
    sum.add(Bytes(header_).first(24), bigEndianWords());
    sound_ = whole && (magic_ & ~1u) == kWalMagic && std::has_single_bit(pageSize_) &&
             pageSize_ >= 512 && pageSize_ <= 65536 && sum == Checksum::stored(header_, 24);
    if (sound_) page_.resize(kPageHeaderBytes + pageSize_);
    previous_ = sum;
  }

  [[nodiscard]] bool isOpen() const { return file_.is_open(); }
  [[nodiscard]] bool headerIsSound() const { return sound_; }
  /// False at the end of the file.
  bool next() {
    if (count_ > 0) previous_ = Checksum::stored(page_, 16);
    if (!read(page_)) return false;
    ++count_;
    return true;
  }
  /// True if the page has the header's salt (pages that an older WAL left in the file have another)
  /// and continues the checksum of the page before it.
  [[nodiscard]] bool pageIsSound() const {
    Checksum sum = previous_;
    sum.add(Bytes(page_).first(8), bigEndianWords());
    sum.add(Bytes(page_).subspan(kPageHeaderBytes), bigEndianWords());
    return Checksum::stored(page_, 8) == Checksum::stored(header_, 16) &&
           sum == Checksum::stored(page_, 16);
  }
  /// True if the page ends a transaction.
  [[nodiscard]] bool isCommit() const { return bigEndian(page_, 4) != 0; }
  [[nodiscard]] std::uint64_t pageOffset() const {
    return kWalHeaderBytes + (count_ - 1) * std::uint64_t{page_.size()};
  }

 private:
  bool read(std::span<std::uint8_t> bytes) {
    file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return static_cast<std::size_t>(file_.gcount()) == bytes.size();
  }
  [[nodiscard]] bool bigEndianWords() const { return (magic_ & 1) != 0; }

  std::ifstream file_;
  std::array<std::uint8_t, kWalHeaderBytes> header_{};
  std::vector<std::uint8_t> page_;
  std::uint32_t magic_ = 0, pageSize_ = 0;
  bool sound_ = false;
  Checksum previous_;
  std::uint64_t count_ = 0;
};

}  // namespace

fs::path walOf(const fs::path& database) {
  fs::path wal = database;
  wal += kWalSuffix;
  return wal;
}

bool hasWal(const fs::path& database) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(walOf(database), error);
  return !error && bytes > kWalHeaderBytes;
}

std::string findWalDamage(const fs::path& database) {
  if (!hasWal(database)) return {};
  const std::string name = "its WAL " + quoted(walOf(database));
  WalFile wal(walOf(database));
  if (!wal.isOpen()) return {};
  if (!wal.headerIsSound()) {
    return name + " has a damaged header: the end of the recording, which is in it, is lost";
  }
  bool more = wal.next();
  while (more && wal.pageIsSound()) more = wal.next();
  if (!more) return {};
  const std::uint64_t brokenAt = wal.pageOffset();
  while (wal.next()) {
    // SQLite may overwrite a page within a transaction and corrects the checksums at its commit: a
    // killed writer's last transaction may be left without either.
    if (wal.isCommit() && wal.pageIsSound()) {
      return name + " is damaged at byte " + std::to_string(brokenAt) +
             ": the end of the recording, which is behind it, is lost";
    }
  }
  return {};
}

}  // namespace highwater::store
