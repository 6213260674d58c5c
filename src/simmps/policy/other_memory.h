#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "simmps/policy/timed_script.h"

namespace highwater::simmps {

/// The largest size in bytes that a recording may hold: 1 PiB.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;

/// Memory use of the simulated machine's other applications: none, a constant, a script over time,
/// or a file whose number is read again each time.
struct OtherMemory {
  TimedScript<std::uint64_t> script;  ///< bytes in use; nothing before the first point
  std::string file;                   ///< empty: use the script
  std::uint64_t fileBytes = 0;        ///< the file's number when the setting was read

  /// The bytes that the script gives for `ns`, in nanoseconds since the device was created; 0
  /// before its first point, and if `file` is used instead of a script.
  [[nodiscard]] std::uint64_t bytesAt(std::uint64_t ns) const;
};

/// Reads the size in a file's first line, such as "2GiB", in bytes. Returns nullopt if the line
/// holds no size of up to kMostBytes, or if the file cannot be read.
[[nodiscard]] std::optional<std::uint64_t> readBytesFile(const std::string& path);

/// Parses the memory use of other applications: a constant ("2GiB"), a script over time
/// ("0s:2GiB,30s:10GiB") or a file ("file:PATH"), which is read here too. Returns an error text
/// if the syntax is wrong, a size is over kMostBytes, a script's times do not ascend, or the file
/// cannot be read or holds no size; the text names `variable` and says what is allowed.
[[nodiscard]] std::variant<OtherMemory, std::string> parseOtherMemory(std::string_view variable,
                                                                      const std::string& text);

}  // namespace highwater::simmps
