#include "cli/doctor/tar_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace highwater::cli {
namespace {

constexpr std::size_t kBlock = 512;
using Header = std::array<char, kBlock>;

void put(Header& header, std::size_t at, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

/// An octal number of `digits` digits.
void putNumber(Header& header, std::size_t at, std::size_t digits, std::uint64_t value) {
  for (std::size_t i = digits; i > 0; --i, value /= 8) {
    header[at + i - 1] = static_cast<char>('0' + value % 8);
  }
}

}  // namespace

Result<void> TarFile::add(std::string_view name, std::string_view bytes) {
  constexpr std::size_t kChecksum = 148, kMostName = 99;
  if (name.size() > kMostName) return failure(std::string(name) + " is too long for an archive");
  Header header{};
  put(header, 0, name);
  putNumber(header, 100, 7, 0644);
  putNumber(header, 108, 7, 0);  // no user and no group
  putNumber(header, 116, 7, 0);
  putNumber(header, 124, 11, bytes.size());
  putNumber(header, 136, 11, seconds_);
  put(header, kChecksum, "        ");
  header[156] = '0';  // a file
  put(header, 257,
      std::string_view("ustar\0"
                       "00",
                       8));
  std::uint64_t sum = 0;
  for (const char each : header) sum += static_cast<unsigned char>(each);
  putNumber(header, kChecksum, 6, sum);
  header[kChecksum + 6] = '\0';
  bytes_.append(header.data(), header.size()).append(bytes);
  bytes_.resize((bytes_.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return {};
}

std::string TarFile::finish() {
  bytes_.resize(bytes_.size() + 2 * kBlock, '\0');
  return std::move(bytes_);
}

}  // namespace highwater::cli
