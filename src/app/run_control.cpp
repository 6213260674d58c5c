#include "app/run_control.h"

#include <QDateTime>
#include <QDir>
#include <QStandardPaths>
#include <system_error>

#include "app/accept_command.h"
#include "core/clock.h"
#include "core/names.h"
#include "session/recording_loader.h"
#include "store/append.h"
#include "store/writer_lock.h"
#include "wire/codec.h"

namespace highwater::app {

namespace fs = std::filesystem;
using session::Session;

namespace {

/// 0 where there is no such file.
std::uint64_t bytesOf(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

}  // namespace

Result<fs::path> newRecordingPath(const QString& workload) {
  const QString folder =
      QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + "/recordings";
  if (!QDir().mkpath(folder)) {
    return Error{ErrorCode::kNoPermission,
                 "the folder for recordings cannot be made: " + folder.toStdString()};
  }
  const QString stem = folder + QLatin1Char('/') + workload + QLatin1Char('-') +
                       QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss"));
  fs::path path((stem + QStringLiteral(".highwater")).toStdString());
  for (int i = 2; fs::exists(path); ++i) {
    path = (stem + QStringLiteral("-%1.highwater").arg(i)).toStdString();
  }
  return path;
}

RunControl::RunControl(session::LaunchOptions options, QObject* parent)
    : QObject(parent), options_(std::move(options)) {}

RunControl::~RunControl() {
  abandon();
}

Result<void> RunControl::run() {
  if (live()) {
    return failure("a run is going on: stop it before the next");
  }
  auto path = newRecordingPath(options_.workload);
  if (!path) {
    return path.error();
  }
  auto writer = store::RecordingWriter::create(*path);
  if (!writer) {
    return writer.error();
  }
  session_.reset();
  store_.clear();
  writer_ = std::move(*writer);
  recordingPath_ = *path;
  writerProblemTold_ = false;
  session_ = std::make_unique<Session>(options_);
  session_->addSink(writer_.get());
  session_->addSink(&store_);
  connect(session_.get(), &Session::stateChanged, this, &RunControl::stateChanged);
  connect(session_.get(), &Session::commandAnswered, this, &RunControl::answered);
  connect(session_.get(), &Session::linePrinted, this, &RunControl::linePrinted);
  connect(session_.get(), &Session::stalled, this, &RunControl::stalled);
  connect(session_.get(), &Session::stallEnded, this, &RunControl::stallEnded);
  connect(session_.get(), &Session::ended, this, &RunControl::finish);
  connect(session_.get(), &Session::received, this, [this] {
    if (writer_ && !writerProblemTold_ && !writer_->errorText().empty()) {
      writerProblemTold_ = true;
      emit problem(QString::fromStdString(writer_->errorText()));
    }
    emit dataChanged();
  });
  started_.start();
  emit runReplaced();
  session_->start();
  return {};
}

Result<void> RunControl::open(const fs::path& path) {
  if (live()) {
    return failure("a run is going on: stop it before opening a recording");
  }
  // Into a store of its own first: a file that turns out broken must not take away what is shown.
  analysis::LiveStore loaded;
  auto condition = session::loadRecording(path, loaded);
  if (!condition) {
    return condition.error();
  }
  session_.reset();
  store_ = std::move(loaded);
  condition_ = std::move(*condition);
  recordingPath_ = path;
  closedBytes_ = bytesOf(path);
  emit runReplaced();
  emit stateChanged();
  emit dataChanged();
  return {};
}

Result<void> RunControl::saveAs(const fs::path& path) const {
  if (recordingPath_.empty() || writer_) {
    return failure("there is no finished recording to save");
  }
  std::error_code error;
  if (fs::equivalent(recordingPath_, path, error)) {
    return failure("this is the recording itself: choose another name");
  }
  if (store::isBeingWritten(path)) {
    return store::beingWritten(path);
  }
  fs::copy_file(recordingPath_, path, fs::copy_options::overwrite_existing, error);
  if (error) {
    return failure(path.string() + " cannot be written: " + error.message());
  }
  return {};
}

void RunControl::pauseOrResume() {
  if (session_) {
    state() == Session::State::kPaused ? session_->resume() : session_->pause();
  }
}

void RunControl::stop() {
  if (session_) {
    session_->stop();
  }
}

void RunControl::emptyCache() {
  if (session_) {
    session_->emptyCache();
  }
}

void RunControl::setKnobs(const SetKnobs& change) {
  if (live()) {
    session_->setKnobs(change);
    return;
  }
  options_.batchSize = change.batchSize.value_or(options_.batchSize);
  options_.sequenceLength = change.sequenceLength.value_or(options_.sequenceLength);
  options_.lossEvery = change.lossEvery.value_or(options_.lossEvery);
}

void RunControl::setProbeLevel(const SetProbeLevel& change) {
  if (live()) {
    session_->setProbeLevel(change);
    return;
  }
  if (change.steps > 0) {
    return;  // the run whose steps were meant has ended
  }
  const std::string_view key = probeLevelKey(change.level);
  options_.probeLevel = QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size()));
}

Result<void> RunControl::acceptFallback(const std::string& op, bool accepted,
                                        const std::string& reason) {
  FallbackAcceptance acceptance{op, accepted, reason, unixNs()};
  if (accepted) {
    auto checked = checkReason(reason);
    if (!checked) return checked.error();
    acceptance.reason = std::move(*checked);
  }
  if (live()) {
    session_->acceptFallback(acceptance);
    return {};
  }
  if (recordingPath_.empty()) {
    return failure("there is no recording to keep it in");
  }
  if (auto kept = store::appendAcceptance(recordingPath_, wire::encode(acceptance), acceptance);
      !kept) {
    return kept;
  }
  store_.apply(acceptance);
  closedBytes_ = bytesOf(recordingPath_);
  emit dataChanged();
  return {};
}

void RunControl::abandon() {
  if (live()) {
    session_->abort();
  }
  closeWriter();
}

Session::State RunControl::state() const {
  return session_ ? session_->state() : Session::State::kIdle;
}

bool RunControl::live() const {
  return session_ && state() != Session::State::kIdle && state() != Session::State::kEnded;
}

bool RunControl::showsFile() const {
  return !session_ && !recordingPath_.empty();
}

std::uint64_t RunControl::recordingBytes() const {
  return writer_ ? writer_->bytesWritten() : closedBytes_;
}

qint64 RunControl::elapsedMs() const {
  return started_.isValid() ? started_.elapsed() : 0;
}

QStringList RunControl::lastLines() const {
  return session_ ? session_->lastLines() : QStringList();
}

void RunControl::closeWriter() {
  if (!writer_) {
    return;
  }
  if (!store_.hello()) {
    writer_->discard();  // the worker never spoke: there is nothing to keep
    recordingPath_.clear();
  } else if (auto closed = writer_->close(); !closed && !writerProblemTold_) {
    emit problem(QString::fromStdString(closed.error().message));
  }
  writer_.reset();
  closedBytes_ = bytesOf(recordingPath_);
}

void RunControl::finish(const RunEnd& end) {
  closeWriter();
  emit stateChanged();
  emit dataChanged();
  emit ended(end);
}

}  // namespace highwater::app
