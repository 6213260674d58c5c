#pragma once

#include <string>
#include <string_view>

namespace highwater {

/// Appends one field of CSV (RFC 4180), quoted where a reader could take it for something else. A
/// text that a spreadsheet would take for a formula gets an apostrophe in front, because names of a
/// recording are not trusted; a number with a sign is none. `text` is UTF-8.
void appendCsvField(std::string& out, std::string_view text);

}  // namespace highwater
