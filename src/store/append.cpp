#include "store/append.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "core/frame_header.h"
#include "core/names.h"
#include "core/units.h"
#include "store/batch_codec.h"
#include "store/checksums.h"
#include "store/database.h"
#include "store/format.h"
#include "store/pending_batch.h"
#include "store/quoted.h"
#include "store/recording_reader.h"

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
  const std::vector<std::string> damage = reader->findDamage();
  if (damage.empty()) return {};
  return Error{ErrorCode::kMalformed, quoted(path) +
                                          " is damaged, and nothing is written "
                                          "into it: " +
                                          damage.front()};
}

/// Leaves WAL mode, which SQLite refuses while another process has the file open.
Result<void> takeForWriting(Database& database) {
  const auto mode = database.value("PRAGMA journal_mode = DELETE");
  if (mode && *mode == "delete") return {};
  return failure("another program has it open; close that first");
}

Result<void> insertFrame(Database& database, std::span<const std::uint8_t> frame,
                         const Message& message) {
  PendingBatch batch;
  batch.add(frame, message);
  BatchPacker packer;
  const auto packed = packer.pack(batch.frames);
  if (!packed) return packed.error();
  auto row = database.prepare(
      "INSERT INTO batches (first_ns, last_ns, kinds, frames, raw_bytes, data)"
      " VALUES (NULL, NULL, ?, ?, ?, ?)");
  if (!row) return row.error();
  const auto bytes = static_cast<std::uint64_t>(batch.frames.size());
  return row->run(batch.kinds, batch.frameCount, bytes, *packed);
}

Result<void> insertForPeople(Database& database, const FallbackAcceptance& acceptance) {
  // A recording of format 1 has no such table yet.
  const auto has = database.schemaOf("accepted_fallbacks");
  if (!has) return has.error();
  if (has->empty()) {
    if (auto done = database.execute(kCreateAcceptedFallbacks); !done) return done;
  }
  auto row = database.prepare("INSERT OR REPLACE INTO accepted_fallbacks VALUES (?, ?, ?, ?)");
  if (!row) return row.error();
  return row->run(std::string_view(acceptance.op), acceptance.accepted,
                  std::string_view(acceptance.reason), acceptance.unixTimeNs);
}

/// Raises the format of the file to the one that has notes. The tables are the same since format 3.
Result<void> raiseFormat(Database& database) {
  const auto version = database.value("PRAGMA user_version");
  if (!version) return version.error();
  if (*version == "1" || *version == "2") {
    return Error{ErrorCode::kVersionMismatch,
                 "it has format " + *version + ", and notes need format 3 or later"};
  }
  if (*version != "3" && *version != "4") return {};
  return database.execute(("PRAGMA user_version = " + std::to_string(kFormatOfNotes)).c_str());
}

Result<void> insertForPeople(Database& database, const Note& note) {
  if (auto raised = raiseFormat(database); !raised) return raised;
  auto row = database.prepare("INSERT INTO markers VALUES (?, ?, ?, 0, 0, ?)");
  if (!row) return row.error();
  return row->run(toMs(note.timeNs), note.step, markerKindKey(events::MarkerKind::Note),
                  std::string_view(note.text));
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

template <typename T>
Result<void> insertInOneTransaction(Database& database, std::span<const std::uint8_t> frame,
                                    const T& message) {
  if (auto done = database.execute("BEGIN IMMEDIATE"); !done) return done;
  if (auto done = insertFrame(database, frame, message); !done) return done;
  if (auto done = insertForPeople(database, message); !done) return done;
  if (auto done = writeChecksums(database); !done) return done;
  return database.execute("COMMIT");
}

template <typename T>
Result<void> append(const std::filesystem::path& path, std::span<const std::uint8_t> frame,
                    const T& message, const CheckFirstFrame& check) {
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
  if (auto done = insertInOneTransaction(*database, frame, message); !done) {
    if (sqlite3_get_autocommit(database->handle()) == 0) (void)database->execute("ROLLBACK");
    return cannotWrite(path, done.error());
  }
  return {};
}

}  // namespace

Result<void> appendAcceptance(const std::filesystem::path& path,
                              std::span<const std::uint8_t> frame,
                              const FallbackAcceptance& acceptance, const CheckFirstFrame& check) {
  return append(path, frame, acceptance, check);
}

Result<void> appendNote(const std::filesystem::path& path, std::span<const std::uint8_t> frame,
                        const Note& note, const CheckFirstFrame& check) {
  return append(path, frame, note, check);
}

}  // namespace highwater::store
