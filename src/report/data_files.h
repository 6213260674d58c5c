#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace highwater::report {

/// What a run is exported as, for other programs.
enum class DataFile : std::uint8_t {
  kPerfettoTrace,
  kChromeTrace,
  kCompressedTrace,
  kSqlite,
  kCsv,
  kCsvFolder,
};

/// A kind of data file.
struct DataFileKind {
  DataFile file;
  std::string_view ending;  ///< of its name: ".pftrace", or "/" of a folder
  const char* noun;         ///< of a file of this kind
  const char* text;         ///< for the help of the command
  const char* title;        ///< for a dialog
};

/// All kinds, in the order of DataFile.
[[nodiscard]] std::span<const DataFileKind> dataFileKinds();

/// The kind of a file by the ending of its name, which has more than that; nullptr for others.
[[nodiscard]] const DataFileKind* dataFileKindOf(std::string_view name);

}  // namespace highwater::report
