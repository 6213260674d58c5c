#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace highwater::worker {

/// One record of a CSV file and the line of the file that it begins on, from 1.
struct CsvRow {
  std::vector<std::string> fields;
  std::size_t line = 0;
};

/// Parses RFC 4180: fields in quotes may hold commas, line breaks and doubled quotes; lines end in
/// LF or CRLF; a UTF-8 byte order mark is skipped, as are empty lines. `name` is what errors call
/// the text. kMalformed where it is not UTF-8 or a quote is out of place.
[[nodiscard]] Result<std::vector<CsvRow>> parseCsv(std::string_view text, std::string_view name);

/// Reads and parses a whole file. kNotFound, kNoPermission, kMalformed.
[[nodiscard]] Result<std::vector<CsvRow>> readCsv(const std::filesystem::path& path);

}  // namespace highwater::worker
