#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/database.h"

/// For the sources of store/ only.
namespace highwater::store {

/// What is wrong with the tables of a recording of this format, a line each: missing, of another
/// form, or of a structure that SQLite's quick_check rejects. Reads every page once; values that
/// are wrong but well formed are not seen, those of the frames are by their checksum.
[[nodiscard]] std::vector<std::string> findDamage(Database& database, std::int32_t formatVersion);

}  // namespace highwater::store
