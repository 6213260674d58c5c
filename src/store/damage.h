#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/database.h"

/// For the sources of store/ only.
namespace highwater::store {

/// Finds the damaged tables of a recording whose format has the version `formatVersion`, and
/// returns one message for each. A table is damaged if it is missing, has another schema, fails
/// SQLite's quick_check, or differs from its stored checksum. Reads every page of the file, but
/// does not decode the frames, which have checksums of their own.
[[nodiscard]] std::vector<std::string> findDamage(Database& database, std::int32_t formatVersion);

}  // namespace highwater::store
