#include "store/append.h"

#include <unistd.h>

#include <string>

#include "store/batch_codec.h"
#include "store/database.h"
#include "store/pending_batch.h"
#include "store/recording_reader.h"

namespace highwater::store {
namespace {

// As in format.h; a recording of format 1 has no such table yet.
constexpr const char* kCreateAcceptances =
    "CREATE TABLE IF NOT EXISTS accepted_fallbacks (op TEXT PRIMARY KEY, accepted INTEGER,"
    " reason TEXT, unix_time_ns INTEGER) WITHOUT ROWID";

Error cannotWrite(const std::filesystem::path& path, const Error& error) {
  return {error.code, "cannot write \"" + path.string() + "\": " + error.message};
}

/// Refused while another process has the file open: SQLite then keeps the WAL.
Result<void> takeForWriting(Database& database) {
  const auto mode = database.value("PRAGMA journal_mode = DELETE");
  if (mode && *mode == "delete") return {};
  return failure("it is open elsewhere; wait for the end of its run, or close its window");
}

Result<void> insert(Database& database, const PendingBatch& batch,
                    const FallbackAcceptance& acceptance) {
  BatchPacker packer;
  const auto packed = packer.pack(batch.frames);
  if (!packed) return packed.error();
  auto row = database.prepare(
      "INSERT INTO batches (first_ns, last_ns, kinds, frames, raw_bytes, data)"
      " VALUES (NULL, NULL, ?, ?, ?, ?)");
  if (!row) return row.error();
  const auto bytes = static_cast<std::uint64_t>(batch.frames.size());
  if (auto done = row->run(batch.kinds, batch.frameCount, bytes, *packed); !done) return done;
  auto forPeople =
      database.prepare("INSERT OR REPLACE INTO accepted_fallbacks VALUES (?, ?, ?, ?)");
  if (!forPeople) return forPeople.error();
  return forPeople->run(std::string_view(acceptance.op), acceptance.accepted,
                        std::string_view(acceptance.reason), acceptance.unixTimeNs);
}

Result<void> insertAtOnce(Database& database, const PendingBatch& batch,
                          const FallbackAcceptance& acceptance) {
  for (const char* sql : {"BEGIN IMMEDIATE", kCreateAcceptances}) {
    if (auto done = database.execute(sql); !done) return done;
  }
  if (auto done = insert(database, batch, acceptance); !done) return done;
  return database.execute("COMMIT");
}

}  // namespace

Result<void> appendAcceptance(const std::filesystem::path& path,
                              std::span<const std::uint8_t> frame,
                              const FallbackAcceptance& acceptance) {
  if (frameSize(frame) != frame.size()) return failure("the frame disagrees with its own size");
  if (auto reader = RecordingReader::open(path); !reader) return reader.error();
  if (::access(path.c_str(), W_OK) != 0) {
    return Error{ErrorCode::kNoPermission, "no permission to write \"" + path.string() + '"'};
  }
  auto database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database) return cannotWrite(path, database.error());
  harden(database->handle());
  if (auto taken = takeForWriting(*database); !taken) return cannotWrite(path, taken.error());
  PendingBatch batch;
  batch.add(frame, acceptance);
  if (auto done = insertAtOnce(*database, batch, acceptance); !done) {
    if (sqlite3_get_autocommit(database->handle()) == 0) (void)database->execute("ROLLBACK");
    return cannotWrite(path, done.error());
  }
  return {};
}

}  // namespace highwater::store
