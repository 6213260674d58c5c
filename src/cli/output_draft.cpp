#include "cli/output_draft.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/program_signals.h"

namespace highwater::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDraftName = ".highwater-draft-";

/// What removeAndEnd() removes. It does not change while that is a handler.
struct {
  std::vector<std::string> files;
  std::string folder;
} doomed;

/// Async-signal-safe. As a handler that is reset, it leaves the signal to the system in the end.
void removeAndEnd(int signal) {
  for (const std::string& each : doomed.files) ::unlink(each.c_str());
  ::rmdir(doomed.folder.c_str());
  ::raise(signal);
}

void handleStopWith(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : std::array{SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    // As with nohup, and for a job of a shell in the background.
    if (before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

std::string reasonOf(int error) {
  return std::generic_category().message(error);
}

/// Follows links to a file that need not exist.
fs::path linkedFrom(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code ignored;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, ignored)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  return path;
}

/// Locks a draft, which is a folder of this user. Returns its descriptor, or -1.
int lockedFolder(const fs::path& path, int how) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return -1;
  struct stat opened {
  }, named{};
  const bool isOurs =
      ::fstat(folder, &opened) == 0 && opened.st_uid == ::geteuid() && ::flock(folder, how) == 0;
  // Until it was locked, another process may have taken it for one that is left.
  if (isOurs && ::lstat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino) return folder;
  ::close(folder);
  return -1;
}

/// Removes the drafts in a folder whose processes are gone: nobody locks them.
void removeLeftDrafts(const fs::path& place) {
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(place, ignored)) {
    if (!each.path().filename().string().starts_with(kDraftName)) continue;
    const int folder = lockedFolder(each.path(), LOCK_EX | LOCK_NB);
    if (folder < 0) continue;
    // A draft has no folders in it.
    for (const auto& file : fs::directory_iterator(each.path(), ignored)) {
      ::unlink(file.path().c_str());
    }
    ::rmdir(each.path().c_str());
    ::close(folder);
  }
}

}  // namespace

Result<std::unique_ptr<OutputDraft>> OutputDraft::ofFile(const std::string& output,
                                                         std::string_view option) {
  std::unique_ptr<OutputDraft> draft(new OutputDraft(output, option));
  const fs::path target = linkedFrom(output);
  if (auto begun =
          draft->begin(target.parent_path(), target.parent_path(), {target.filename().string()});
      !begun) {
    return begun.error();
  }
  return draft;
}

Result<std::unique_ptr<OutputDraft>> OutputDraft::ofFolder(const std::string& output,
                                                           const std::vector<std::string>& names) {
  std::unique_ptr<OutputDraft> draft(new OutputDraft(output));
  fs::path given = output;
  if (!given.has_filename()) given = given.parent_path();
  std::error_code problem;
  const fs::file_status status = fs::status(given, problem);
  if (status.type() == fs::file_type::none) return draft->notWritten(problem.message());
  const bool exists = fs::exists(status);
  if (exists && !fs::is_directory(status)) return draft->notWritten("it is no folder");
  const fs::path target = exists ? given : linkedFrom(given);
  if (auto begun = draft->begin(exists ? target : target.parent_path(), target, names); !begun) {
    return begun.error();
  }
  if (!exists) draft->target_ = target;
  return draft;
}

Result<void> OutputDraft::begin(const fs::path& place, const fs::path& target,
                                const std::vector<std::string>& names) {
  for (const std::string& each : names) {
    std::error_code problem;
    const fs::file_status status = fs::status(target / each, problem);
    if (status.type() == fs::file_type::none) return notWritten(problem.message());
    if (fs::exists(status) && ::access((target / each).c_str(), W_OK) != 0) {
      return notWritten(reasonOf(errno));
    }
  }
  const fs::path where = place.empty() ? fs::path(".") : place;
  removeLeftDrafts(where);
  const BlockedProgramSignals untilHandled;
  if (auto made = makeFolder(where); !made) return made;
  doomed = {{}, folder_.string()};
  for (const std::string& each : names) {
    pieces_.push_back(std::make_unique<Piece>());
    pieces_.back()->draft = folder_ / each;
    pieces_.back()->target = target / each;
    doomed.files.push_back(pieces_.back()->draft.string());
  }
  handleStopWith(&removeAndEnd);
  return {};
}

Result<void> OutputDraft::makeFolder(const fs::path& place) {
  constexpr int kMostTries = 100;
  for (int i = 0; i < kMostTries; ++i) {
    folder_ =
        place / (std::string(kDraftName) + std::to_string(::getpid()) + '-' + std::to_string(i));
    if (::mkdir(folder_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      const int error = errno;
      folder_.clear();
      return notWritten(reasonOf(error));
    }
    lock_ = lockedFolder(folder_, LOCK_EX);
    std::error_code ignored;
    // Where nothing can be locked, nobody removes it either.
    if (lock_ >= 0 || fs::exists(folder_, ignored)) return {};
  }
  folder_.clear();
  return notWritten("no name is free for its draft");
}

OutputDraft::~OutputDraft() {
  for (const auto& each : pieces_) {
    each->file.close();
    if (!folder_.empty()) ::unlink(each->draft.c_str());
  }
  if (!folder_.empty()) ::rmdir(folder_.c_str());
  if (lock_ >= 0) ::close(lock_);
  handleStopWith(SIG_DFL);
}

Result<QFile*> OutputDraft::open(std::size_t file) {
  Piece& piece = *pieces_[file];
  piece.file.setFileName(QString::fromStdString(piece.draft.string()));
  if (!piece.file.open(QIODevice::WriteOnly)) {
    return notWritten(piece.file.errorString().toStdString());
  }
  return &piece.file;
}

bool OutputDraft::failed() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const auto& each) { return each->file.error() != QFileDevice::NoError; });
}

Result<void> OutputDraft::flush() {
  for (const auto& each : pieces_) {
    QFile& file = each->file;
    if (file.error() != QFileDevice::NoError || (file.isOpen() && !file.flush())) {
      return notWritten(file.errorString().toStdString());
    }
  }
  return {};
}

std::uint64_t OutputDraft::bytes() const {
  std::uint64_t sum = 0;
  std::error_code ignored;
  for (const auto& each : pieces_) sum += fs::file_size(each->draft, ignored);
  return sum;
}

Result<void> OutputDraft::settle(Piece& piece) const {
  struct stat before {};
  if (::stat(piece.target.c_str(), &before) == 0) {
    ::chmod(piece.draft.c_str(), before.st_mode & 07777);
  }
  const int file = ::open(piece.draft.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return notWritten(reasonOf(errno));
  // Not every file system can.
  const int failed = ::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  ::close(file);
  if (failed != 0) return notWritten(reasonOf(failed));
  return {};
}

Result<void> OutputDraft::commit() {
  if (auto done = flush(); !done) return done;
  for (const auto& each : pieces_) {
    each->file.close();
    if (auto done = settle(*each); !done) return done;
  }
  // From here to the end of the process: what is whole takes its place.
  handleStopWith(SIG_IGN);
  const auto move = [this](const fs::path& from, const fs::path& to) -> Result<void> {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return notWritten(reasonOf(errno));
  };
  if (!target_.empty()) {
    if (auto done = move(folder_, target_); !done) return done;
    folder_.clear();
    return {};
  }
  for (const auto& each : pieces_) {
    if (auto done = move(each->draft, each->target); !done) return done;
  }
  return {};
}

Error OutputDraft::notWritten(const std::string& reason) const {
  return failure(output_ + " cannot be written: " + reason + "; name another output after " +
                 option_);
}

}  // namespace highwater::cli
