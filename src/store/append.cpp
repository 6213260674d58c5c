#include "store/append.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "core/frame_header.h"
#include "store/batch_codec.h"
#include "store/database.h"
#include "store/format.h"
#include "store/pending_batch.h"
#include "store/quoted.h"
#include "store/recording_reader.h"
#include "store/recording_tables.h"

namespace highwater::store {
namespace {

Error cannotWrite(const std::filesystem::path& path, const Error& error) {
  return {error.code, "cannot write " + quoted(path) + ": " + error.message};
}

/// A damaged file is refused: SQLite could spoil what can still be read.
Result<void> checkSound(const std::filesystem::path& path) {
  auto reader = RecordingReader::open(path);
  if (!reader) return reader.error();
  if (reader->beingWritten()) {
    return failure(quoted(path) +
                   " is being written by a running process; wait for the end of its run");
  }
  const auto read =
      reader->forEachFrame([](std::span<const std::uint8_t>) -> Result<void> { return {}; });
  if (read && reader->lostEnd().empty()) return {};
  const Error why = read ? Error{ErrorCode::kMalformed,
                                 quoted(path) + " is damaged: " + reader->lostEnd().front()}
                         : read.error();
  return Error{why.code, why.message + ". Nothing is written into it"};
}

/// Leaves WAL mode, which SQLite refuses while another process has the file open.
Result<void> takeForWriting(Database& database) {
  const auto mode = database.value("PRAGMA journal_mode = DELETE");
  if (mode && *mode == "delete") return {};
  return failure("another program has it open; close that first");
}

/// A reader of a format before that of notes would misread the file.
Result<void> raiseFormat(Database& database) {
  const auto older = database.value("SELECT 1 FROM pragma_user_version WHERE user_version < " +
                                    std::to_string(kFormatOfNotes));
  if (!older) return older.error();
  if (older->empty()) return {};
  return database.execute(("PRAGMA user_version = " + std::to_string(kFormatVersion)).c_str());
}

Result<void> checkFirstFrame(Database& database, const CheckFirstFrame& check) {
  auto row = database.prepare("SELECT raw_bytes, data FROM batches WHERE id = 1");
  if (!row) return row.error();
  const Result<bool> found = row->step();
  if (!found) return found.error();
  if (!*found) return check({});
  BatchUnpacker unpacker;
  const auto frames = unpacker.unpack(row->blob(1), row->integer(0));
  if (!frames) return frames.error();
  const std::vector<std::uint8_t> aligned(
      frames->begin(), frames->begin() + static_cast<std::ptrdiff_t>(frameSize(*frames)));
  return check(aligned);
}

Result<void> insertInOneTransaction(Database& database, const PendingBatch& batch) {
  RecordingTables tables;
  if (auto done = tables.prepare(database); !done) return done;
  if (auto done = database.execute("BEGIN IMMEDIATE"); !done) return done;
  if (auto done = tables.write(batch); !done) return done;
  if (auto done = raiseFormat(database); !done) return done;
  return database.execute("COMMIT");
}

}  // namespace

Result<void> append(const std::filesystem::path& path, std::span<const std::uint8_t> frame,
                    const Message& message, const CheckFirstFrame& check) {
  if (frameSize(frame) != frame.size()) return failure("the frame disagrees with its own size");
  if (auto sound = checkSound(path); !sound) return sound;
  if (::access(path.c_str(), W_OK) != 0) {
    return Error{ErrorCode::kNoPermission, "no permission to write " + quoted(path)};
  }
  auto database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database) return cannotWrite(path, database.error());
  harden(database->handle());
  // Of the file that is open now: the name may be another file's by then.
  if (check) {
    if (auto checked = checkFirstFrame(*database, check); !checked) return checked;
  }
  if (auto taken = takeForWriting(*database); !taken) return cannotWrite(path, taken.error());
  PendingBatch batch;
  batch.add(frame, message);
  if (auto done = insertInOneTransaction(*database, batch); !done) {
    if (sqlite3_get_autocommit(database->handle()) == 0) (void)database->execute("ROLLBACK");
    return cannotWrite(path, done.error());
  }
  return {};
}

}  // namespace highwater::store
