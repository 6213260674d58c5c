#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace highwater::worker {

/// A record of a CSV file, and the line that it begins on, counted from 1.
struct CsvRow {
  std::vector<std::string> fields;
  std::size_t line = 0;
};

/// Parses CSV by RFC 4180: quoted fields may hold commas, line breaks and doubled quotes; lines end
/// in LF or CRLF. Skips a UTF-8 byte order mark and empty lines. Fails with kMalformed if the text
/// is not UTF-8, holds a NUL byte, has lines that end in CR alone, or a quote is out of place; the
/// message names `name` and the line.
[[nodiscard]] Result<std::vector<CsvRow>> parseCsv(std::string_view text, std::string_view name);

/// Reads a CSV file and parses it with parseCsv(). Fails with kNotFound if the file does not exist,
/// with kNoPermission if it cannot be read, and with kMalformed if it is no regular file, is larger
/// than 1 GiB, or parseCsv() refuses its text.
[[nodiscard]] Result<std::vector<CsvRow>> readCsv(const std::filesystem::path& path);

}  // namespace highwater::worker
