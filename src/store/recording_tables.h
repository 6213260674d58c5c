#pragma once

#include <span>

#include "core/definition_table.h"
#include "store/database.h"
#include "store/pending_batch.h"

namespace highwater::store {

/// Writes batches of messages into the tables of a recording. Its methods fail with the errors of
/// databaseError().
class RecordingTables {
 public:
  /// Creates the tables in an empty database, and marks the file as a recording in its header.
  /// Fails with the errors of databaseError().
  [[nodiscard]] static Result<void> create(Database& database);

  /// Prepares the SQL statements that the other methods use. `database` must stay open until the
  /// next prepare() or release(). Fails with the errors of databaseError().
  [[nodiscard]] Result<void> prepare(Database& database);
  /// Frees the SQL statements, so that the database can be closed.
  void release();

  /// Inserts a row into the table `batches` and the batch's events into the other tables.
  /// `packedFrames` are the batch's frames, compressed. Fails with the errors of databaseError().
  /// Precondition: prepare() has succeeded and a transaction has begun.
  [[nodiscard]] Result<void> write(const PendingBatch& batch,
                                   std::span<const std::uint8_t> packedFrames);
  /// Writes a row of the table `run`, in place of a row with the same key. Fails with the errors of
  /// databaseError().
  [[nodiscard]] Result<void> setRunValue(std::string_view key, std::string_view value);

 private:
  [[nodiscard]] Result<void> writeRows(const PendingBatch& batch);

  DefinitionTable definitions_;
  Statement batch_, run_, step_, deviceSpan_, marker_, fallback_, syncPoint_, hostSample_,
      phaseMemory_, acceptance_;
};

}  // namespace highwater::store
