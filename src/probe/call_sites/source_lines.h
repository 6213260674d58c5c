#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace highwater::probe {

/// The texts of source lines. Reads each file once. One thread only.
class SourceLines {
 public:
  /// The largest file that is read, and the most that is kept of all files, in bytes.
  static constexpr std::size_t kMostFileBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  /// Files that were changed after `loadedBy`, in seconds since 1970, have no lines: the program
  /// may run what they said before.
  explicit SourceLines(std::time_t loadedBy = std::time(nullptr)) : loadedBy_(loadedBy) {}

  /// Returns the line `number`, counted from 1, of the file at the absolute path `file`: without
  /// white space around it, and cut to wire::kMaxLineTextBytes. Empty where the file is none of
  /// text in UTF-8, cannot be read, is too large or was changed, and where it has no such line.
  [[nodiscard]] std::string text(const std::string& file, std::uint32_t number);

 private:
  struct File {
    std::string content;
    std::vector<std::size_t> begins;  ///< of the lines
  };

  [[nodiscard]] File read(const std::string& path) const;

  std::time_t loadedBy_;
  std::unordered_map<std::string, File> files_;
  std::size_t keptBytes_ = 0;
};

}  // namespace highwater::probe
