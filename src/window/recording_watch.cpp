#include "window/recording_watch.h"

#include <sys/stat.h>

#include "session/run_id.h"
#include "window/current_run.h"

namespace highwater::window {
namespace {

constexpr int kLookMs = 1000;

}  // namespace

RecordingWatch::RecordingWatch(CurrentRun* run, QObject* parent) : QObject(parent), run_(run) {
  timer_.setInterval(kLookMs);
  connect(&timer_, &QTimer::timeout, this, &RecordingWatch::look);
  connect(run_, &CurrentRun::runReplaced, this, &RecordingWatch::startOver);
}

void RecordingWatch::startOver() {
  seen_.reset();
  isReplaced_ = false;
  timer_.start();
}

std::optional<RecordingWatch::Stamp> RecordingWatch::stamp() const {
  struct stat file {};
  if (::stat(run_->recordingPath().c_str(), &file) != 0) return std::nullopt;
  Stamp stamp{static_cast<std::uint64_t>(file.st_dev), static_cast<std::uint64_t>(file.st_ino)};
  // A file that is being written changes all the time; one that replaces it is another file.
  if (run_->condition().beingWritten) return stamp;
#ifdef __APPLE__
  stamp.seconds = file.st_mtimespec.tv_sec;
  stamp.nanoseconds = file.st_mtimespec.tv_nsec;
#else
  stamp.seconds = file.st_mtim.tv_sec;
  stamp.nanoseconds = file.st_mtim.tv_nsec;
#endif
  return stamp;
}

bool RecordingWatch::look() {
  if (isReplaced_ || run_->live() || run_->recording() || !run_->runId()) return isReplaced_;
  const auto now = stamp();
  if (!now || now == seen_) return false;
  const auto held = session::readRunId(run_->recordingPath());
  // One that cannot be read, or in which nothing is written yet, is looked at again.
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

}  // namespace highwater::window
