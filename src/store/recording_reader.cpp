#include "store/recording_reader.h"

#include <algorithm>
#include <array>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "core/frame_header.h"
#include "store/batch_codec.h"
#include "store/database.h"
#include "store/format.h"
#include "store/quoted.h"
#include "store/recording_file.h"
#include "store/recording_header.h"
#include "store/recording_wal.h"
#include "store/writer_lock.h"

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

enum class As {
  kWhole,
  kWithWalInMemory,  ///< the WAL's index in memory instead of in a -shm beside it; without locks
  kWithoutWal,
  kCutShort,  ///< SQLite refuses a file that lacks pages unless the schema counts as writable
};

const char* uriParameterOf(As as) {
  if (as == As::kWithWalInMemory) return "vfs=unix-none";
  return as == As::kWithoutWal ? "immutable=1" : nullptr;
}

/// Opens the file and reads its schema, which is where SQLite first looks at it.
Result<Database> openHardened(const fs::path& path, As as) {
  Result<Database> database =
      Database::open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX, uriParameterOf(as));
  if (!database) return database;
  harden(database->handle());
  // A reader that believes to be alone would write the WAL into the file, and remove it.
  sqlite3_db_config(database->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (as == As::kWithWalInMemory) {
    if (auto done = database->execute("PRAGMA locking_mode = EXCLUSIVE"); !done) {
      return done.error();
    }
  }
  if (as == As::kCutShort) {
    // Nothing can be written all the same: the file is open for reading only.
    sqlite3_db_config(database->handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    if (auto done = database->execute("PRAGMA writable_schema = ON"); !done) return done.error();
  }
  sqlite3_busy_timeout(database->handle(), 2000);
  if (auto done = database->execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0"); !done) {
    return done.error();
  }
  const Result<std::string> schema = database->schemaOf("batches");
  if (!schema) return schema.error();
  // Exactly our schema: no view, no virtual table, no computed column.
  if (schema->empty()) return Error{ErrorCode::kMalformed, "its table \"batches\" is missing"};
  if (*schema != kCreateBatches) {
    return Error{ErrorCode::kMalformed, "its table \"batches\" is of another form"};
  }
  return database;
}

/// Whether the end of the stream is in the file.
bool hasRunEnd(Database& database) {
  const auto ended = database.value("SELECT 1 FROM batches WHERE kinds & " +
                                    std::to_string(kindBit(RunEnd())) + " LIMIT 1");
  return ended && !ended->empty();
}

/// Whether another program, such as Python's sqlite3, has written the whole WAL into the file and
/// deleted it: see kCheckpointedKey.
bool hasTakenInItsWal(Database& database) {
  const auto whole = database.value(
      std::string("SELECT 1 FROM run WHERE key = '") + kBatchesKey +
      "' AND CAST(value AS INTEGER) = (SELECT count(*) FROM batches) AND CAST(value AS INTEGER) > "
      "coalesce((SELECT CAST(value AS INTEGER) FROM run WHERE key = '" +
      kCheckpointedKey + "'), 0)");
  return whole && !whole->empty();
}

std::string walUnread(const fs::path& path, const Error& error) {
  return "its WAL \"" + walOf(path).string() + "\" could not be read (" + error.message +
         "): the end of the recording, which is in it, is missing";
}

std::string walGone(const fs::path& path) {
  return "it was not closed after its run, and its WAL is not beside it: the end of the recording "
         "may be missing, unless another program has written it into the file; if the file was "
         "moved, move \"" +
         walOf(path).filename().string() + "\" as well";
}

/// One row of the recording, decompressed.
struct Batch {
  std::int64_t id;
  std::int64_t frames;                  ///< how many it should have
  std::span<const std::uint8_t> bytes;  ///< valid until its unpacker is used again
};

}  // namespace

struct RecordingReader::Impl {
  [[nodiscard]] Error damaged(std::uint64_t frames, const Error& error) const {
    // What SQLite stumbles over in a file that lacks its end follows from that.
    const std::string cut = missingEnd(path);
    const std::string& why = cut.empty() ? error.message : cut;
    const std::string said = quoted(path) + " is damaged: " + why;
    if (frames == 0) return {error.code, said + std::string(kNothingRead)};
    return {error.code, said + "; the " + std::to_string(frames) +
                            (frames == 1 ? " message" : " messages") +
                            " of the training before the damage can be read"};
  }

  [[nodiscard]] Result<void> visitBatch(const Batch& batch, std::uint64_t& frames,
                                        const VisitFrame& visit) const;

  fs::path path;
  Database database;
  bool beingWritten;
  std::vector<std::string> lostEnd;
};

Result<RecordingReader> RecordingReader::open(const fs::path& path) {
  const auto header = readHeader(path);
  if (!header) return header.error();
  // Before anything is read: a run that ends meanwhile must not look like one that was killed.
  const bool beingWritten = isBeingWritten(path);
  // Before SQLite opens the file, for it creates an empty WAL.
  const bool withWal = hasWal(path);
  std::vector<std::string> lostEnd;
  if (header->inWalMode && !beingWritten) {
    if (std::string damage = findWalDamage(path); !damage.empty()) {
      lostEnd.push_back(std::move(damage));
    }
  }
  Result<Database> database = openHardened(path, As::kWhole);
  const auto cannotMakeShm = [&] {
    return !database && database.error().code != ErrorCode::kMalformed;
  };
  // SQLite keeps the index of a WAL in a -shm file, which neither a read-only folder nor a full
  // disk allows. Without locks only where nobody writes.
  if (cannotMakeShm() && withWal && !beingWritten) {
    database = openHardened(path, As::kWithWalInMemory);
  }
  if (cannotMakeShm()) {
    if (withWal) lostEnd.push_back(walUnread(path, database.error()));
    database = openHardened(path, As::kWithoutWal);
  }
  if (!database && !missingEnd(path).empty()) database = openHardened(path, As::kCutShort);
  if (!database) {
    const Error& error = database.error();
    if (error.code == ErrorCode::kMalformed) return damagedRecording(path, error.message);
    return Error{error.code, "cannot open " + quoted(path) + ": " + error.message};
  }
  if (header->inWalMode && !beingWritten && !withWal && !hasRunEnd(*database) &&
      !hasTakenInItsWal(*database)) {
    lostEnd.push_back(walGone(path));
  }
  if (std::string missing = missingEnd(path); !missing.empty()) {
    lostEnd.push_back(std::move(missing));
  }
  return RecordingReader(
      std::make_unique<Impl>(Impl{path, std::move(*database), beingWritten, std::move(lostEnd)}));
}

RecordingReader::RecordingReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
RecordingReader::~RecordingReader() = default;

/// Walks through the frames of one batch. Counts them in `frames`.
Result<void> RecordingReader::Impl::visitBatch(const Batch& batch, std::uint64_t& frames,
                                               const VisitFrame& visit) const {
  std::vector<std::uint8_t> aligned;
  std::int64_t framesOfBatch = 0;
  for (std::span<const std::uint8_t> rest = batch.bytes; !rest.empty(); ++framesOfBatch) {
    const std::size_t size = frameSize(rest);
    if (size == 0) {
      return damaged(frames, {ErrorCode::kMalformed, "a message's size is out of limits"});
    }
    aligned.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
    if (auto done = visit(aligned); !done) return done;
    ++frames;
    rest = rest.subspan(size);
  }
  if (framesOfBatch != batch.frames) {
    return damaged(frames, {ErrorCode::kMalformed, "a batch has another number of messages"});
  }
  return {};
}

namespace {

/// Reads and decompresses the batches of a recording one after another.
class BatchSource {
 public:
  BatchSource(Statement rows, const fs::path& path) : rows_(std::move(rows)), path_(path) {}

  /// The next batch, decompressed by `unpacker`, or nothing after the last one. Fails with
  /// kMalformed if a batch is missing or damaged, and where the file would inflate to far more
  /// than any recording does.
  [[nodiscard]] Result<std::optional<Batch>> next(BatchUnpacker& unpacker) {
    const Result<bool> row = rows_.step();
    if (!row) return row.error();
    if (!*row) return std::optional<Batch>();
    if (rows_.integer(3) != ++id_) {
      return Error{ErrorCode::kMalformed, "batch " + std::to_string(id_) + " is missing"};
    }
    bytes_ += static_cast<std::uint64_t>(std::max<std::int64_t>(rows_.integer(1), 0));
    // The file may grow while it is read.
    if (bytes_ > mostBytes_) mostBytes_ = kMaxBatchBytes + kMostInflation * sizeWithWal(path_);
    if (bytes_ > mostBytes_) {
      return Error{ErrorCode::kMalformed, "it holds over " + std::to_string(kMostInflation) +
                                              " times the size of its file, which no recording "
                                              "does"};
    }
    const auto bytes = unpacker.unpack(rows_.blob(2), rows_.integer(1));
    if (!bytes) return bytes.error();
    return std::optional(Batch{id_, rows_.integer(0), *bytes});
  }

 private:
  Statement rows_;
  const fs::path& path_;
  std::int64_t id_ = 0;
  std::uint64_t bytes_ = 0, mostBytes_ = 0;
};

}  // namespace

Result<void> RecordingReader::forEachFrame(const VisitFrame& visit,
                                           const VisitBatch& batchBegins) const {
  Result<Statement> rows =
      impl_->database.prepare("SELECT frames, raw_bytes, data, id FROM batches ORDER BY id");
  if (!rows) return impl_->damaged(0, rows.error());
  BatchSource source(std::move(*rows), impl_->path);
  // While a batch is visited, another thread reads and decompresses the next one.
  std::array<BatchUnpacker, 2> unpackers;
  std::uint64_t frames = 0;
  auto batch = source.next(unpackers[0]);
  for (std::size_t turn = 1;; ++turn) {
    if (!batch) return impl_->damaged(frames, batch.error());
    if (!*batch) return {};
    // Its destructor waits for the thread. Without a thread to be had, get() reads the batch.
    std::future<Result<std::optional<Batch>>> following =
        std::async([&source, &unpacker = unpackers[turn % 2]] { return source.next(unpacker); });
    if (batchBegins) batchBegins((*batch)->id);
    if (auto done = impl_->visitBatch(**batch, frames, visit); !done) return done;
    batch = following.get();
  }
}

Result<std::int64_t> RecordingReader::batchCount() const {
  Result<Statement> rows = impl_->database.prepare("SELECT max(id) FROM batches");
  if (!rows) return impl_->damaged(0, rows.error());
  const Result<bool> row = rows->step();
  if (!row) return impl_->damaged(0, row.error());
  return *row ? rows->integer(0) : 0;
}

Result<std::vector<std::int64_t>> RecordingReader::batchesWith(events::EventKind kind,
                                                               std::int64_t beginNs,
                                                               std::int64_t endNs) const {
  Result<Statement> rows = impl_->database.prepare(
      "SELECT id FROM batches WHERE kinds & " + std::to_string(kindBit(kind)) + " AND first_ns < " +
      std::to_string(endNs) + " AND last_ns >= " + std::to_string(beginNs) + " ORDER BY id");
  if (!rows) return impl_->damaged(0, rows.error());
  std::vector<std::int64_t> ids;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return impl_->damaged(0, row.error());
    if (!*row) return ids;
    ids.push_back(rows->integer(0));
  }
}

Result<void> RecordingReader::forEachFrameOf(std::int64_t batch, const VisitFrame& visit) const {
  Result<Statement> rows = impl_->database.prepare(
      "SELECT frames, raw_bytes, data FROM batches WHERE id = " + std::to_string(batch));
  if (!rows) return impl_->damaged(0, rows.error());
  const Result<bool> row = rows->step();
  if (!row) return impl_->damaged(0, row.error());
  if (!*row) {
    return impl_->damaged(
        0, {ErrorCode::kMalformed, "batch " + std::to_string(batch) + " is missing"});
  }
  BatchUnpacker unpacker;
  const auto bytes = unpacker.unpack(rows->blob(2), rows->integer(1));
  if (!bytes) return impl_->damaged(0, bytes.error());
  std::uint64_t frames = 0;
  return impl_->visitBatch({batch, rows->integer(0), *bytes}, frames, visit);
}

bool RecordingReader::beingWritten() const {
  return impl_->beingWritten;
}

const std::vector<std::string>& RecordingReader::lostEnd() const {
  return impl_->lostEnd;
}

std::uint64_t RecordingReader::fileBytes() const {
  return sizeWithWal(impl_->path);
}

}  // namespace highwater::store
