#pragma once

#include <string_view>

#include "store/batch_codec.h"
#include "store/database.h"
#include "store/pending_batch.h"

namespace highwater::store {

/// Writes the tables of a recording. Its methods fail with the errors of databaseError().
class RecordingTables {
 public:
  /// Creates the tables in an empty database, and marks the file as a recording in its header.
  [[nodiscard]] static Result<void> create(Database& database);

  /// Prepares the SQL statements that the other methods use. `database` must stay open until the
  /// next prepare() or release().
  [[nodiscard]] Result<void> prepare(Database& database);
  /// Frees the SQL statements, so that the database can be closed.
  void release();

  /// Inserts a row into the table `batches`, with the frames compressed. Also fails with kFailed if
  /// zstd fails. Precondition: prepare() has succeeded and a transaction has begun.
  [[nodiscard]] Result<void> write(const PendingBatch& batch);
  /// Writes a row of the table `run`, in place of a row with the same key.
  [[nodiscard]] Result<void> setRunValue(std::string_view key, std::uint64_t value);

 private:
  BatchPacker packer_;
  Statement batch_, run_;
};

}  // namespace highwater::store
