#include "run/recording_watch.h"

#include <sys/stat.h>

#include "run/run.h"
#include "run/run_id.h"

namespace highwater::run {
namespace {

constexpr int kLookMs = 1000;

}  // namespace

RecordingWatch::RecordingWatch(Run* run, QObject* parent) : QObject(parent), run_(run) {
  timer_.setInterval(kLookMs);
  connect(&timer_, &QTimer::timeout, this, &RecordingWatch::look);
  connect(run_, &Run::runReplaced, this, &RecordingWatch::startOver);
}

void RecordingWatch::startOver() {
  seen_.reset();
  unreadable_ = {};
  isReplaced_ = false;
  timer_.start();
}

std::optional<RecordingWatch::Stamp> RecordingWatch::stampOf(const std::filesystem::path& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return std::nullopt;
#ifdef __APPLE__
  const timespec &modified = file.st_mtimespec, &changed = file.st_ctimespec;
#else
  const timespec &modified = file.st_mtim, &changed = file.st_ctim;
#endif
  const auto ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return Stamp{static_cast<std::uint64_t>(file.st_dev), static_cast<std::uint64_t>(file.st_ino),
               file.st_size, ns(modified), ns(changed)};
}

bool RecordingWatch::look() {
  if (isReplaced_ || run_->live() || run_->recording() || !run_->runId()) return isReplaced_;
  const std::filesystem::path path = run_->recordingPath();
  std::filesystem::path log = path;
  log += "-wal";
  const Stamps whole{stampOf(path), stampOf(log)};
  if (!whole.file || whole == unreadable_) return false;
  // A file that is being written changes all the time; one that replaces it is another file.
  Stamp now = *whole.file;
  if (run_->condition().beingWritten) now = Stamp{now.device, now.inode};
  if (now == seen_) return false;
  const auto held = readRunId(path);
  // Damaged content stays as it is until the file changes; other errors may pass.
  if (!held && held.error().code == ErrorCode::kMalformed) unreadable_ = whole;
  // One in which nothing is written yet is looked at again.
  if (!held || !*held) return false;
  if (*held == run_->runId()) {
    seen_ = now;
    return false;
  }
  isReplaced_ = true;
  timer_.stop();
  emit replaced();
  return true;
}

}  // namespace highwater::run
