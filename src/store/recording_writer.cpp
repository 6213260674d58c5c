#include "store/recording_writer.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/frame_header.h"
#include "core/units.h"
#include "store/database.h"
#include "store/format.h"
#include "store/pending_batch.h"
#include "store/recording_file.h"
#include "store/recording_reader.h"
#include "store/recording_tables.h"

namespace highwater::store {
namespace {

using Clock = std::chrono::steady_clock;
using Batches = std::deque<PendingBatch>;

std::size_t bytesOf(const Batches& batches) {
  std::size_t sum = 0;
  for (const PendingBatch& batch : batches) sum += batch.frames.size();
  return sum;
}

/// With a WAL a commit does not wait for the disk, and the file can be read while it is written.
Result<void> enterWalMode(Database& database) {
  return database.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0");
}

Result<Database> openForWriting(const std::filesystem::path& path) {
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database) return database;
  sqlite3_busy_timeout(database->handle(), 2000);
  return database;
}

}  // namespace

struct RecordingWriter::Impl {
  Impl(RecordingFile recordingFile, const WriterOptions& writerOptions)
      : options(writerOptions), file(std::move(recordingFile)) {}

  // Called on the owner's thread.
  Result<void> start();
  void take(std::span<const std::uint8_t> frame, const Message& message);
  Result<void> close();
  void discard();
  std::string errorText() const;

  // Called on the writer's thread, and on the owner's once that has ended.
  void loop();
  std::optional<Clock::time_point> nextDue() const;  ///< with the mutex held
  void write(const Batches& batches);
  Result<void> writeAll(const Batches& batches);
  void rollBack();
  Result<void> openTables();
  Result<void> noteCheckpoint(std::uint64_t batches);
  Result<void> moveIntoPlace();
  void checkpoint();
  void watchFile();
  void checkPlace();
  Result<void> finish();
  void leaveWalAndClose();
  void sayWhatIsInTheWal();
  void checkWhatWasTouched();
  void writeFailed(const Error& error);
  void keepError(Error error);

  const WriterOptions options;
  RecordingFile file;
  std::optional<Database> database;
  RecordingTables tables;
  bool diskFailed = false;
  bool touched = false;   ///< somebody else wrote into the file
  bool walStays = false;  ///< the last checkpoint failed: the end of the recording is in the WAL
  std::uint64_t framesWritten = 0, batchesWritten = 0;
  bool checkpointNeeded = false;
  /// A reader kept the last checkpoint from taking in all: the next may end at any commit, so that
  /// each says what noteCheckpoint() says.
  bool endsAtACommit = false;
  Clock::time_point lastCheckpoint = Clock::now();
  std::thread thread;
  std::atomic<std::uint64_t> bytesWritten{0};

  mutable std::mutex mutex;  ///< protects all members below
  std::condition_variable wake;
  Batches queue;
  std::size_t queuedBytes = 0;  ///< with those that are being written
  Clock::time_point oldest;     ///< when the first frame of the queue was taken
  bool cut = false;             ///< frames were lost: only the end of the run is still taken
  std::uint64_t lostFrames = 0;
  bool closing = false;
  bool closed = false;
  std::optional<Error> firstError;
};

Result<void> RecordingWriter::Impl::start() {
  Result<Database> opened = openForWriting(file.current());
  if (!opened) return opened.error();
  database.emplace(std::move(*opened));
  // Before WAL mode, so that the header in the file itself says what it is from the beginning.
  if (auto done = RecordingTables::create(*database); !done) return done;
  if (auto done = openTables(); !done) return done;
  // SQLite opens the WAL by its name with the first write: now, for the folder may move later.
  if (auto done = noteCheckpoint(0); !done) return done;
  bytesWritten = sizeWithWal(file.current());
  thread = std::thread([this] { loop(); });
  return {};
}

Result<void> RecordingWriter::Impl::openTables() {
  if (auto done = enterWalMode(*database); !done) return done;
  // From here on only a checkpoint writes into the file itself.
  file.lock().remember();
  return tables.prepare(*database);
}

void RecordingWriter::Impl::take(std::span<const std::uint8_t> frame, const Message& message) {
  const std::lock_guard lock(mutex);
  if (closing) return;
  const bool isEnd = std::holds_alternative<RunEnd>(message);
  if (!cut && frameSize(frame) != frame.size()) {
    cut = true;
    if (!firstError) firstError = failure("a frame of the stream disagrees with its own size");
  }
  if (!cut && queuedBytes + frame.size() > options.maxQueuedBytes) {
    cut = true;
    if (!firstError) {
      firstError = failure("the disk is too slow: " + formatBytes(queuedBytes) +
                           " wait to be written, and the rest of the run is not recorded");
    }
  }
  if (cut && (!isEnd || frameSize(frame) != frame.size())) {
    ++lostFrames;
    return;
  }
  const bool first = queue.empty();
  if (first) oldest = Clock::now();
  if (first || queue.back().frames.size() >= kFullBatchBytes) {
    queue.emplace_back();
  }
  PendingBatch& batch = queue.back();
  batch.add(frame, message);
  queuedBytes += frame.size();
  if (first || batch.frames.size() >= kFullBatchBytes) wake.notify_one();
}

std::optional<Clock::time_point> RecordingWriter::Impl::nextDue() const {
  std::optional<Clock::time_point> due;
  if (!queue.empty()) due = oldest + options.commitEvery;
  if (checkpointNeeded) {
    const auto checkpoint = lastCheckpoint + options.checkpointEvery;
    due = std::min(due.value_or(checkpoint), checkpoint);
  }
  return due;
}

void RecordingWriter::Impl::loop() {
  std::unique_lock lock(mutex);
  for (;;) {
    const bool full = !queue.empty() && queue.front().frames.size() >= kFullBatchBytes;
    const bool late = !queue.empty() && Clock::now() >= oldest + options.commitEvery;
    if (!queue.empty() && (closing || full || late)) {
      const Batches batches = std::exchange(queue, {});
      lock.unlock();
      write(batches);
      lock.lock();
      queuedBytes -= bytesOf(batches);
    } else if (closing) {
      return;
    } else if (checkpointNeeded && Clock::now() >= lastCheckpoint + options.checkpointEvery) {
      lock.unlock();
      checkpoint();
      lock.lock();
    } else if (const auto due = nextDue()) {
      wake.wait_until(lock, *due);
    } else {
      wake.wait(lock);
    }
  }
}

void RecordingWriter::Impl::checkpoint() {
  watchFile();
  if (diskFailed) return;
  if (auto done = noteCheckpoint(batchesWritten); !done) return writeFailed(done.error());
  // Passive: does not wait for readers; what they still need is left to the next checkpoint.
  int inWal = 0, taken = 0;
  sqlite3_wal_checkpoint_v2(database->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &inWal, &taken);
  endsAtACommit = inWal != taken;
  file.lock().remember();
  lastCheckpoint = Clock::now();
  // Again, also where nothing more is written, if a reader kept it from taking in all.
  checkpointNeeded = endsAtACommit;
  bytesWritten = sizeWithWal(file.current());
}

/// Notes in the file that it ends here because of a checkpoint of this writer: the rest of the
/// recording, if there is more, is in the WAL. See kCheckpointedKey.
Result<void> RecordingWriter::Impl::noteCheckpoint(std::uint64_t batches) {
  return tables.setRunValue(kCheckpointedKey, batches);
}

/// A deleted file is an error at once, for nothing of it would stay. A moved one is written to its
/// end and may come back until then, unless its name is taken: finish() reports it.
void RecordingWriter::Impl::watchFile() {
  touched = touched || file.lock().isTouched();
  const bool deleted = file.lock().isDeleted();
  diskFailed = diskFailed || deleted;
  if (deleted || file.isReplaced()) checkPlace();
}

void RecordingWriter::Impl::checkPlace() {
  if (auto place = file.checkPlace(); !place) keepError(place.error());
}

void RecordingWriter::Impl::write(const Batches& batches) {
  const auto lose = [&] {
    const std::lock_guard lock(mutex);
    for (const PendingBatch& batch : batches) lostFrames += batch.frameCount;
  };
  if (diskFailed) return lose();
  if (auto done = writeAll(batches); !done) {
    rollBack();
    writeFailed(done.error());
    return lose();
  }
  checkpointNeeded = true;
  const bool begun = std::any_of(batches.begin(), batches.end(),
                                 [](const PendingBatch& batch) { return batch.hasStepOrPhase(); });
  if (begun && !file.inPlace()) {
    if (auto done = moveIntoPlace(); !done) writeFailed(done.error());
  }
  bytesWritten = sizeWithWal(file.current());
}

void RecordingWriter::Impl::rollBack() {
  if (sqlite3_get_autocommit(database->handle()) == 0) (void)database->execute("ROLLBACK");
}

Result<void> RecordingWriter::Impl::writeAll(const Batches& batches) {
  if (auto done = database->execute("BEGIN IMMEDIATE"); !done) return done;
  for (const PendingBatch& batch : batches) {
    if (auto done = tables.write(batch); !done) return done;
  }
  const std::uint64_t written = batchesWritten + batches.size();
  if (auto done = tables.setRunValue(kBatchesKey, written); !done) return done;
  if (endsAtACommit) {
    if (auto done = noteCheckpoint(written); !done) return done;
  }
  if (auto done = database->execute("COMMIT"); !done) return done;
  batchesWritten = written;
  for (const PendingBatch& batch : batches) framesWritten += batch.frameCount;
  return {};
}

Result<void> RecordingWriter::Impl::moveIntoPlace() {
  if (file.inPlace()) return {};
  if (auto done = noteCheckpoint(batchesWritten); !done) return done;
  // SQLite finds a WAL by the file's name: the connection is closed for the move.
  leaveWalAndClose();
  const auto moved = file.moveIntoPlace();
  Result<Database> reopened = openForWriting(file.current());
  if (!reopened) return reopened.error();
  database.emplace(std::move(*reopened));
  if (auto done = openTables(); !done) return done;
  return moved;
}

void RecordingWriter::Impl::leaveWalAndClose() {
  tables.release();
  if (!database) return;
  const int emptied = sqlite3_wal_checkpoint_v2(database->handle(), nullptr,
                                                SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  // Busy while somebody reads the file: then the WAL stays, and is read with it.
  walStays = emptied != SQLITE_OK && emptied != SQLITE_BUSY;
  const bool inPlace = file.lock().isAt(file.current());
  if (inPlace) (void)database->execute("PRAGMA journal_mode = DELETE");
  database.reset();
  // SQLite leaves those of a file that was moved. If its name is taken, they belong to the new
  // file.
  if (!inPlace && !file.isReplaced() && emptied == SQLITE_OK) removeCompanions(file.current());
}

/// If the last checkpoint failed, the recording is two files.
void RecordingWriter::Impl::sayWhatIsInTheWal() {
  const std::filesystem::path wal = walOf(file.current());
  std::error_code error;
  const auto bytes = std::filesystem::file_size(wal, error);
  if (!walStays || error || bytes == 0 || file.isReplaced()) return;
  const std::string what = "its end is in \"" + wal.string() + "\"; keep both files";
  const std::lock_guard lock(mutex);
  if (firstError) {
    firstError->message += "; " + what;
  } else {
    firstError = failure("the recording \"" + file.current().string() +
                         "\" could not be completed: " + what);
  }
}

/// Reads the file back if another process wrote into it, which may be harmless (a checkpoint).
void RecordingWriter::Impl::checkWhatWasTouched() {
  if (!touched || diskFailed || !file.lock().isAt(file.current())) return;
  const auto said = [this](const std::string& why) {
    keepError({ErrorCode::kMalformed, "the recording \"" + file.target().string() +
                                          "\" was overwritten while it was written: " + why});
  };
  const auto reader = RecordingReader::open(file.current());
  if (!reader) return said(reader.error().message);
  if (!reader->lostEnd().empty()) return said(reader->lostEnd().front());
  std::uint64_t frames = 0;
  const auto read = reader->forEachFrame([&](std::span<const std::uint8_t>) -> Result<void> {
    ++frames;
    return {};
  });
  if (!read) return said(read.error().message);
  if (frames != framesWritten) {
    said(std::to_string(frames) + " of " + std::to_string(framesWritten) +
         " messages of the training are left");
  }
}

Result<void> RecordingWriter::Impl::finish() {
  watchFile();
  checkPlace();
  leaveWalAndClose();
  if (!diskFailed) {
    if (auto done = file.moveIntoPlace(); !done) keepError(done.error());
  }
  sayWhatIsInTheWal();
  checkWhatWasTouched();
  bytesWritten = sizeWithWal(file.current());
  file.release();
  const std::lock_guard lock(mutex);
  if (firstError) return *firstError;
  return {};
}

Result<void> RecordingWriter::Impl::close() {
  {
    const std::lock_guard lock(mutex);
    if (closed) return firstError ? Result<void>(*firstError) : Result<void>();
    closing = closed = true;
  }
  wake.notify_one();
  if (thread.joinable()) thread.join();
  return finish();
}

void RecordingWriter::Impl::discard() {
  {
    const std::lock_guard lock(mutex);
    queue.clear();
    closing = closed = true;
  }
  wake.notify_one();
  if (thread.joinable()) thread.join();
  tables.release();
  database.reset();
  file.remove();
  file.release();
}

void RecordingWriter::Impl::writeFailed(const Error& error) {
  keepError({error.code, "the recording \"" + file.target().string() +
                             "\" could not be written: " + error.message});
  diskFailed = true;
  checkpointNeeded = false;
}

void RecordingWriter::Impl::keepError(Error error) {
  const std::lock_guard lock(mutex);
  if (!firstError) firstError = std::move(error);
}

std::string RecordingWriter::Impl::errorText() const {
  const std::lock_guard lock(mutex);
  if (!firstError) return {};
  const bool allLost = firstError->code == ErrorCode::kNotFound;
  if (lostFrames == 0 || allLost) return firstError->message;
  return firstError->message + " (" + std::to_string(lostFrames) +
         (lostFrames == 1 ? " message" : " messages") + " of the training lost)";
}

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::filesystem::path& path,
                                                                 const WriterOptions& options) {
  // The default action ends the process: https://man7.org/linux/man-pages/man2/setrlimit.2.html
  std::signal(SIGXFSZ, SIG_IGN);
  Result<RecordingFile> file = RecordingFile::create(path, options.overwrite);
  if (!file) return file.error();
  auto impl = std::make_unique<Impl>(std::move(*file), options);
  if (auto started = impl->start(); !started) {
    impl->discard();
    return Error{started.error().code,
                 "cannot write \"" + path.string() + "\": " + started.error().message};
  }
  return std::unique_ptr<RecordingWriter>(new RecordingWriter(std::move(impl)));
}

RecordingWriter::RecordingWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RecordingWriter::~RecordingWriter() {
  (void)close();
}

void RecordingWriter::take(std::span<const std::uint8_t> frame, const Message& message) {
  impl_->take(frame, message);
}

Result<void> RecordingWriter::close() {
  return impl_->close();
}

void RecordingWriter::discard() {
  impl_->discard();
}

std::uint64_t RecordingWriter::bytesWritten() const {
  return impl_->bytesWritten;
}

std::string RecordingWriter::errorText() const {
  return impl_->errorText();
}

const std::filesystem::path& RecordingWriter::path() const {
  return impl_->file.target();
}

}  // namespace highwater::store
