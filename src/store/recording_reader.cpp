#include "store/recording_reader.h"

#include <string>
#include <system_error>
#include <vector>

#include "store/batch_codec.h"
#include "store/damage.h"
#include "store/database.h"
#include "store/format.h"
#include "store/recording_file.h"
#include "store/recording_header.h"
#include "store/writer_lock.h"

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

std::string quoted(const fs::path& path) {
  return '"' + path.string() + '"';
}

enum class As {
  kWhole,
  kWithoutWal,
  kCutShort,  ///< SQLite refuses a file that lacks pages unless the schema counts as writable
};

/// Opens and reads the schema, which is where SQLite first looks at the file.
Result<Database> openHardened(const fs::path& path, As as) {
  Result<Database> database = Database::open(path, SQLITE_OPEN_READONLY, as == As::kWithoutWal);
  if (!database) return database;
  harden(database->handle());
  if (as == As::kCutShort) {
    // Nothing can be written all the same: the file is open for reading only.
    sqlite3_db_config(database->handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    if (auto done = database->execute("PRAGMA writable_schema = ON"); !done) return done.error();
  }
  sqlite3_busy_timeout(database->handle(), 2000);
  if (auto done = database->execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0"); !done) {
    return done.error();
  }
  const Result<std::string> schema =
      database->value("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'batches'");
  if (!schema) return schema.error();
  // Nothing but our own table: no view, no virtual table, no computed column.
  if (schema->empty()) return Error{ErrorCode::kMalformed, "its table \"batches\" is missing"};
  if (*schema != kCreateBatches) {
    return Error{ErrorCode::kMalformed, "its table \"batches\" is of another form"};
  }
  return database;
}

}  // namespace

struct RecordingReader::Impl {
  [[nodiscard]] Error damaged(std::uint64_t frames, const Error& error) const {
    return {error.code, quoted(path) + " is damaged after " + std::to_string(frames) +
                            " frames: " + error.message};
  }

  fs::path path;
  Database database;
  std::int32_t formatVersion;
  bool beingWritten;
  bool withoutWal;
};

Result<RecordingReader> RecordingReader::open(const fs::path& path) {
  const auto header = readHeader(path);
  if (!header) return header.error();
  // Before anything is read: a run that ends meanwhile is not taken for one that was killed.
  const bool beingWritten = isBeingWritten(path);
  Result<Database> database = openHardened(path, As::kWhole);
  // The WAL that a killed run left needs a -shm beside it, which a read-only folder does not allow:
  // then what was checkpointed is what can be read.
  const bool withoutWal = !database && database.error().code != ErrorCode::kMalformed;
  if (withoutWal) database = openHardened(path, As::kWithoutWal);
  if (!database && !missingEnd(path).empty()) database = openHardened(path, As::kCutShort);
  if (!database) {
    const Error& error = database.error();
    if (error.code == ErrorCode::kMalformed) return damagedRecording(path, error.message);
    return Error{error.code, "cannot open " + quoted(path) + ": " + error.message};
  }
  return RecordingReader(std::make_unique<Impl>(
      Impl{path, std::move(*database), header->formatVersion, beingWritten, withoutWal}));
}

RecordingReader::RecordingReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
RecordingReader::~RecordingReader() = default;

Result<void> RecordingReader::forEachFrame(
    const std::function<Result<void>(std::span<const std::uint8_t>)>& visit) const {
  Result<Statement> rows =
      impl_->database.prepare("SELECT frames, raw_bytes, data, id FROM batches ORDER BY id");
  if (!rows) return impl_->damaged(0, rows.error());
  BatchUnpacker unpacker;
  std::vector<std::uint8_t> aligned;
  std::uint64_t frames = 0;
  for (std::int64_t id = 1;; ++id) {
    const Result<bool> row = rows->step();
    if (!row) return impl_->damaged(frames, row.error());
    if (!*row) return {};
    if (rows->integer(3) != id) {
      return impl_->damaged(frames,
                            {ErrorCode::kMalformed, "batch " + std::to_string(id) + " is missing"});
    }
    const auto batch = unpacker.unpack(rows->blob(2), rows->integer(1));
    if (!batch) return impl_->damaged(frames, batch.error());
    std::int64_t framesOfBatch = 0;
    for (std::span<const std::uint8_t> rest = *batch; !rest.empty(); ++framesOfBatch) {
      const std::size_t size = frameSize(rest);
      if (size == 0) {
        return impl_->damaged(frames, {ErrorCode::kMalformed, "a frame's size is out of limits"});
      }
      aligned.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      if (auto done = visit(aligned); !done) return done;
      ++frames;
      rest = rest.subspan(size);
    }
    if (framesOfBatch != rows->integer(0)) {
      return impl_->damaged(frames,
                            {ErrorCode::kMalformed, "a batch has another number of frames"});
    }
  }
}

bool RecordingReader::beingWritten() const {
  return impl_->beingWritten;
}

std::vector<std::string> RecordingReader::findDamage() const {
  // A file whose newest pages are in a WAL that cannot be read need not be whole.
  std::error_code ignored;
  if (impl_->withoutWal && sizeWithWal(impl_->path) > fs::file_size(impl_->path, ignored)) {
    return {};
  }
  std::vector<std::string> damage = store::findDamage(impl_->database, impl_->formatVersion);
  if (std::string missing = missingEnd(impl_->path); !missing.empty()) {
    damage.insert(damage.begin(), std::move(missing));
  }
  return damage;
}

std::uint64_t RecordingReader::fileBytes() const {
  return sizeWithWal(impl_->path);
}

}  // namespace highwater::store
