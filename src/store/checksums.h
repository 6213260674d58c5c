#pragma once

#include <string>
#include <vector>

#include "store/database.h"

/// Checksums of the tables for people, in the table `checksums`. The frames in `batches` have their
/// own, inside of zstd. For the sources of store/ only.
namespace highwater::store {

/// Computes and stores a checksum of each readable table (those that Highwater writes for other
/// tools, with `forPeople` in store/format.h). Does nothing in a file of a format without
/// checksums. Fails with the errors of databaseError(). Precondition: a transaction has begun.
[[nodiscard]] Result<void> writeChecksums(Database& database);

/// Finds the readable tables (`forPeople` in store/format.h) that differ from their stored
/// checksum, and returns one message for each. Empty if the recording was never closed, since it
/// has no checksums then. Reads every row of these tables. Precondition: their structure is sound
/// (see findDamage()).
[[nodiscard]] std::vector<std::string> findChangedTables(Database& database);

}  // namespace highwater::store
