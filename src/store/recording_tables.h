#pragma once

#include <span>

#include "core/definition_table.h"
#include "store/database.h"
#include "store/pending_batch.h"

namespace highwater::store {

/// Puts batches into the tables of a recording.
class RecordingTables {
 public:
  /// Creates them in an empty database, with the marks of a recording in its header.
  [[nodiscard]] static Result<void> create(Database& database);

  /// Prepares for `database`, which must stay open until the next prepare() or release().
  [[nodiscard]] Result<void> prepare(Database& database);
  void release();

  /// One row in `batches`, with the rows made from it. Within the caller's transaction.
  [[nodiscard]] Result<void> write(const PendingBatch& batch,
                                   std::span<const std::uint8_t> packedFrames);
  [[nodiscard]] Result<void> setRunValue(std::string_view key, std::string_view value);

 private:
  [[nodiscard]] Result<void> writeSummaries(const PendingBatch& batch, std::int64_t batchId);
  [[nodiscard]] Result<void> writeRows(const PendingBatch& batch);

  sqlite3* db_ = nullptr;
  DefinitionTable definitions_;
  Statement batch_, summary_, run_, step_, deviceSpan_, marker_, fallback_, syncPoint_,
      phaseMemory_, acceptance_;
};

}  // namespace highwater::store
