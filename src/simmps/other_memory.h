#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace highwater::simmps {

/// The most that a recording may hold for a size: 1 PiB.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;

/// What the other applications of the simulated machine use: nothing, a number, a script over time,
/// or a file whose number is read again each time.
struct OtherMemory {
  struct Point {
    std::uint64_t atNs = 0;  ///< since the device was made
    std::uint64_t bytes = 0;
  };
  std::vector<Point> script;  ///< by time; each holds until the next, and nothing before the first
  std::string file;           ///< empty: the script counts
  std::uint64_t fileBytes = 0;  ///< the file's number when it was named

  /// As the script says; 0 for a file.
  [[nodiscard]] std::uint64_t bytesAt(std::uint64_t ns) const;
};

/// The number in a file's first line, as in "2GiB"; nullopt where it holds none or cannot be read.
[[nodiscard]] std::optional<std::uint64_t> readBytesFile(const std::string& path);

/// "2GiB", "0s:2GiB,30s:10GiB" or "file:PATH". The error names the variable and what is allowed.
[[nodiscard]] std::variant<OtherMemory, std::string> parseOtherMemory(std::string_view variable,
                                                                      const std::string& text);

}  // namespace highwater::simmps
