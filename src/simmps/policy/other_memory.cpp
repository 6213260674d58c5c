#include "simmps/policy/other_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "core/units.h"
#include "simmps/policy/setting_values.h"

namespace highwater::simmps {
namespace {

constexpr std::size_t kLongestLine = 64;
constexpr std::string_view kFilePrefix = "file:";
constexpr std::string_view kAllowed =
    "bytes, or a number with KiB, MiB or GiB, up to 1024 TiB; or a script of such numbers with the "
    "seconds since the start, later ones last, as in 0s:2GiB,30s:10GiB; or file:PATH of a file "
    "that holds such a number, which may change";

std::optional<std::uint64_t> bytesOf(std::string_view text) {
  const auto bytes = parseBytes(text, "a size");
  return bytes && *bytes <= kMostBytes ? std::optional(*bytes) : std::nullopt;
}

}  // namespace

std::uint64_t OtherMemory::bytesAt(std::uint64_t ns) const {
  return valueAt(script, ns, std::uint64_t{0});
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
  return bytesOf(read.substr(0, read.find('\n')));
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
  if (auto script = parseTimedScript<std::uint64_t>(text, bytesOf))
    return OtherMemory{std::move(*script), {}, 0};
  return refusal(variable, text, kAllowed);
}

}  // namespace highwater::simmps
