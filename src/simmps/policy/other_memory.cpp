#include "simmps/policy/other_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/units.h"
#include "simmps/policy/setting_values.h"

namespace highwater::simmps {
namespace {

constexpr double kMostSeconds = 1e9;
constexpr std::size_t kLongestLine = 64;
constexpr std::string_view kFilePrefix = "file:";
constexpr std::string_view kAllowed =
    "bytes, or a number with KiB, MiB or GiB, up to 1024 TiB; or a script of such numbers with the "
    "seconds since the start, later ones last, as in 0s:2GiB,30s:10GiB; or file:PATH of a file "
    "that "
    "holds such a number, which may change";

std::optional<std::uint64_t> bytesOf(const std::string& text) {
  const auto bytes = parseBytes(text, "a size");
  return bytes && *bytes <= kMostBytes ? std::optional(*bytes) : std::nullopt;
}

/// "30s:10GiB"; the seconds may have a fraction.
std::optional<OtherMemory::Point> pointOf(const std::string& text) {
  const auto time = parseNumber(text);
  constexpr std::string_view kSeconds = "s:";
  if (!time || time->value < 0 || time->value > kMostSeconds ||
      time->rest.substr(0, kSeconds.size()) != kSeconds) {
    return std::nullopt;
  }
  const auto bytes = bytesOf(std::string(time->rest.substr(kSeconds.size())));
  if (!bytes) return std::nullopt;
  return OtherMemory::Point{static_cast<std::uint64_t>(time->value * 1e9), *bytes};
}

/// nullopt if a point is malformed or not later than the one before.
std::optional<std::vector<OtherMemory::Point>> scriptOf(const std::string& text) {
  std::vector<OtherMemory::Point> script;
  for (std::size_t start = 0; start <= text.size();) {
    start = std::min(text.find_first_not_of(' ', start), text.size());
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const auto point = pointOf(text.substr(start, comma - start));
    if (!point || (!script.empty() && point->atNs <= script.back().atNs)) return std::nullopt;
    script.push_back(*point);
    start = comma + 1;
  }
  return script;
}

}  // namespace

std::uint64_t OtherMemory::bytesAt(std::uint64_t ns) const {
  std::uint64_t bytes = 0;
  for (const Point& point : script) {
    if (point.atNs > ns) break;
    bytes = point.bytes;
  }
  return bytes;
}

std::optional<std::uint64_t> readBytesFile(const std::string& path) {
  // A pipe or a device could block the reader.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat about = {};
  std::array<char, kLongestLine> text;
  const bool isFile = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const ssize_t length = isFile ? ::read(file, text.data(), text.size()) : -1;
  ::close(file);
  if (length <= 0) return std::nullopt;
  const std::string_view read(text.data(), static_cast<std::size_t>(length));
  return bytesOf(std::string(read.substr(0, read.find('\n'))));
}

std::variant<OtherMemory, std::string> parseOtherMemory(std::string_view variable,
                                                        const std::string& text) {
  if (std::string_view(text).substr(0, kFilePrefix.size()) == kFilePrefix) {
    OtherMemory live;
    live.file = text.substr(kFilePrefix.size());
    if (const auto bytes = readBytesFile(live.file)) {
      live.fileBytes = *bytes;
      return live;
    }
    return std::string(variable) + ": \"" + live.file +
           "\" cannot be read or holds no number of bytes; give a file whose first line is a "
           "number, which may have KiB, MiB or GiB.";
  }
  if (const auto bytes = bytesOf(text)) return OtherMemory{{{0, *bytes}}, {}, 0};
  if (auto script = scriptOf(text)) return OtherMemory{std::move(*script), {}, 0};
  return refusal(variable, text, kAllowed);
}

}  // namespace highwater::simmps
