#include "store/recording_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "core/plain_text.h"
#include "store/database.h"
#include "store/pending_batch.h"
#include "store/quoted.h"
#include "store/recording_header.h"

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kLongestSuffix = kCompanionSuffixes.back();
static_assert(kLongestSuffix == "-journal");

Error createError(const fs::path& path, int error) {
  if (error == EACCES || error == EPERM || error == EROFS) {
    return {ErrorCode::kNoPermission, "no permission to write " + quoted(path)};
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return failure("cannot create " + quoted(path) + ": its folder does not exist");
  }
  // The folder is there: "no such file" is how /proc refuses.
  if (error == ENOENT) {
    return failure("cannot create " + quoted(path) + ": its folder takes no files");
  }
  return failure("cannot create " + quoted(path) + ": " + std::generic_category().message(error));
}

/// Returns 0 or errno.
int createEmpty(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  ::close(descriptor);
  return 0;
}

/// Locks the file that createEmpty() made. Removes it if it cannot be locked, unless somebody else
/// has begun to write it.
Result<WriterLock> lockEmpty(const fs::path& path) {
  auto lock = WriterLock::take(path);
  std::error_code ignored;
  if (!lock && lock.error().code != ErrorCode::kExists && fs::file_size(path, ignored) == 0) {
    fs::remove(path, ignored);
  }
  return lock;
}

/// The hidden name of a recording that will replace `target` is this, the process id and ".new".
/// Long names are cut so that SQLite's companions fit.
std::string hiddenPrefix(const fs::path& target) {
  constexpr std::size_t kMostOfName = 200;
  return '.' + std::string(cutText(target.filename().string(), kMostOfName)) + '.';
}

/// The process id in such a name, also in that of a companion; 0 if it is another name.
pid_t processOf(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return 0;
  const char* end = name.data() + name.size();
  pid_t process = 0;
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, process);
  const bool hidden = error == std::errc() && std::string_view(rest, end).starts_with(".new");
  return hidden && process > 0 ? process : 0;
}

bool isRunning(pid_t process) {
  return ::kill(process, 0) == 0 || errno == EPERM;
}

/// True also if it cannot be read: then it is kept.
bool mayHoldSteps(const fs::path& recording) {
  std::error_code missing;
  if (fs::file_size(recording, missing) == 0 || missing) return false;
  // With a journal, the writer was killed while it created the tables, or while it closed the file.
  if (fs::exists(recording.string() + "-journal", missing)) return readHeader(recording).ok();
  auto database = Database::open(recording, SQLITE_OPEN_READONLY);
  if (!database) return true;
  harden(database->handle());
  const auto begun = database->value("SELECT 1 FROM batches WHERE kinds & " +
                                     std::to_string(PendingBatch::kStepOrPhaseKinds) + " LIMIT 1");
  return !begun || !begun->empty();
}

/// Removes the hidden files of killed writers of the same name. One that holds steps stays: it
/// could not be moved into place.
void removeAbandoned(const fs::path& target) {
  const std::string prefix = hiddenPrefix(target);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::set<fs::path> abandoned;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    const pid_t process = processOf(each->path().filename().string(), prefix);
    if (process == 0 || isRunning(process)) continue;
    abandoned.insert(folder / (prefix + std::to_string(process) + ".new"));
  }
  for (const fs::path& recording : abandoned) {
    if (isBeingWritten(recording) || mayHoldSteps(recording)) continue;
    fs::remove(recording, error);
    removeCompanions(recording);
  }
}

}  // namespace

Result<void> checkNameLength(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const long most = ::pathconf(folder.c_str(), _PC_NAME_MAX);
  const auto name = path.filename().string().size();
  const auto longest = most <= 0 ? name : static_cast<std::size_t>(most) - kLongestSuffix.size();
  if (name <= longest) return {};
  return failure("the name of the recording is too long: it has " + std::to_string(name) +
                 " bytes, and its folder takes names of at most " + std::to_string(longest) +
                 " (SQLite needs " + std::to_string(kLongestSuffix.size()) +
                 " more for the files beside it); give a shorter name");
}

void removeCompanions(const fs::path& database) {
  for (const std::string_view suffix : kCompanionSuffixes) {
    std::error_code ignored;
    fs::path companion = database;
    companion += suffix;
    fs::remove(companion, ignored);
  }
}

std::uint64_t sizeWithWal(const fs::path& database) {
  std::uint64_t bytes = 0;
  for (const fs::path& part : {database, walOf(database)}) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(part, error);
    if (!error) bytes += size;
  }
  return bytes;
}

Result<void> copyRecording(const fs::path& from, const fs::path& to) {
  const auto failed = [&to](const std::error_code& error) {
    return failure(to.string() + " cannot be written: " + error.message());
  };
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return failed(error);
  // SQLite would replay the WAL of the file that was overwritten.
  removeCompanions(to);
  if (hasWal(from)) {
    fs::copy_file(walOf(from), walOf(to), error);
    if (error) return failed(error);
  }
  return {};
}

Result<RecordingFile> RecordingFile::create(const fs::path& path, bool overwrite) {
  if (auto fits = checkNameLength(path); !fits) return fits.error();
  removeAbandoned(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    return failure(quoted(path) + " is a folder; give the name of a file in it");
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return failure(quoted(path) + " is not a regular file; a recording cannot be written to it");
  }
  if (!fs::exists(status)) {
    // O_EXCL: of two writers that ask for the same name, the second is refused.
    const int failed = createEmpty(path);
    if (failed == 0) return createNew(path);
    if (failed != EEXIST) return createError(path, failed);
  }
  if (!overwrite) {
    return Error{
        ErrorCode::kExists,
        quoted(path) + " exists already; give another name, or allow it to be overwritten"};
  }
  if (!mayBeRecording(path)) {
    return Error{ErrorCode::kExists,
                 quoted(path) +
                     " is not a recording, so it is not overwritten; move it away, or give another "
                     "name"};
  }
  return createBeside(path);
}

/// Precondition: the empty file exists.
Result<RecordingFile> RecordingFile::createNew(const fs::path& path) {
  auto lock = lockEmpty(path);
  if (!lock) return lock.error();
  // They belong to another file, which was deleted or lost its name.
  removeCompanions(path);
  return RecordingFile(path, path, std::move(*lock), {});
}

Result<RecordingFile> RecordingFile::createBeside(const fs::path& path) {
  if (::access(path.c_str(), W_OK) != 0) return createError(path, errno);
  // Through a symbolic link, the file that it names is replaced, not the link.
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (error) return createError(path, error.value());
  auto oldLock = WriterLock::take(target);
  if (!oldLock) return oldLock.error();
  if (auto fits = checkNameLength(target); !fits) return fits.error();
  removeAbandoned(target);
  const std::string name = hiddenPrefix(target) + std::to_string(::getpid()) + ".new";
  fs::path beside = target.parent_path() / name;
  // Left by an earlier process with the same id, as is usual in containers.
  for (int i = 2; fs::exists(beside, error) && mayHoldSteps(beside); ++i) {
    beside = target.parent_path() / (name + std::to_string(i));
  }
  fs::remove(beside, error);
  removeCompanions(beside);
  if (const int failed = createEmpty(beside); failed != 0) return createError(target, failed);
  auto lock = lockEmpty(beside);
  if (!lock) return lock.error();
  return RecordingFile(target, beside, std::move(*lock), std::move(*oldLock));
}

Result<void> RecordingFile::moveIntoPlace() {
  if (inPlace()) return {};
  std::error_code error;
  const auto kept = [this](const std::string& why) {
    return failure("cannot replace " + quoted(target_) + ": " + why + "; the recording is " +
                   quoted(current_));
  };
  if (fs::exists(fs::symlink_status(target_, error)) && !oldLock_.isAt(target_)) {
    return kept("another file has come to that name meanwhile");
  }
  // Without the WAL beside it, SQLite would not find the end of the recording.
  const std::uintmax_t left = fs::file_size(walOf(current_), error);
  if (!error && left > 0) {
    return kept(quoted(walOf(current_)) + " could not be written into the recording");
  }
  // SQLite would replay an old WAL into the new file.
  removeCompanions(target_);
  fs::rename(current_, target_, error);
  if (error) return kept(error.message());
  current_ = target_;
  oldLock_.release();
  return {};
}

bool RecordingFile::isReplaced() const {
  std::error_code ignored;
  return !lock_.isAt(current_) && fs::exists(fs::symlink_status(current_, ignored));
}

Result<void> RecordingFile::checkPlace() const {
  if (lock_.isAt(current_)) return {};
  const std::string other = isReplaced() ? ", and another file has its name now" : "";
  const std::string what = lock_.isDeleted()
                               ? "deleted while it was written" + other + ": what it held is lost"
                               : "moved while it was written" + other + ": it has another name now";
  return Error{ErrorCode::kNotFound, "the recording " + quoted(current_) + " was " + what};
}

void RecordingFile::remove() const {
  if (!lock_.isAt(current_)) return;
  std::error_code ignored;
  fs::remove(current_, ignored);
  removeCompanions(current_);
}

void RecordingFile::release() {
  lock_.release();
  oldLock_.release();
}

}  // namespace highwater::store
