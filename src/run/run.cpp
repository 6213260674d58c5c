#include "run/run.h"

#include <QThreadPool>
#include <QTimer>
#include <system_error>

#include "core/knobs.h"
#include "core/names.h"
#include "core/units.h"
#include "run/fallback_acceptance.h"
#include "run/note.h"
#include "run/recording_loader.h"
#include "run/recordings_folder.h"
#include "run/restart.h"
#include "session/checkpoint_files.h"
#include "session/worker_process.h"
#include "store/recording_file.h"
#include "store/writer_lock.h"
#include "wire/limits.h"

namespace highwater::run {

namespace fs = std::filesystem;
using session::Session;

namespace {

/// How often a recording that another process writes is looked at, and how much of it is then read
/// before the window may draw.
constexpr int kFollowMs = 300;
constexpr std::int64_t kMostBatchesAtOnce = 64;
/// A script that is asked to stop ends with its step, unless it saves its model first, or ignores
/// the interrupt.
constexpr qint64 kKillOfferedMs = 5000;

/// "train" for "train.py", and no character that a file name must not have.
QString fileNameFor(const QString& program) {
  QString name = program.endsWith(QStringLiteral(".py")) ? program.chopped(3) : program;
  return name.remove(QStringLiteral("-m ")).replace(u'/', u'-');
}

/// 0 if there is no such file.
std::uint64_t bytesOf(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

}  // namespace

Run::Run(session::LaunchOptions options, QObject* parent)
    : QObject(parent), options_(std::move(options)) {
  followTimer_.setInterval(kFollowMs);
  connect(&followTimer_, &QTimer::timeout, this, &Run::readOn);
}

Run::~Run() {
  abandon();
}

void Run::recordTo(RecordingTarget target) {
  firstFile_ = target.path;
  target_ = std::move(target);
}

Result<void> Run::runWorkload() {
  session::LaunchOptions options = options_;
  if (!live()) {
    checkpoint_.reset();
    recovery_ = {};
    before_.reset();
    if (!target_ || options.afterAbort == session::AfterAbort::kRestart) {
      auto files = session::CheckpointFiles::create();
      if (!files && target_) return files.error();
      if (files) checkpoint_ = *files;
    }
    options.checkpoint = checkpoint_;
  }
  return launch(options);
}

Result<void> Run::launch(const session::LaunchOptions& options) {
  return begin(QString::fromStdString(options.trained()), {}, [this, options] {
    script_.reset();
    launched_ = options;
    return std::make_unique<Session>(options);
  });
}

Result<void> Run::restart(const RestartSettings& settings) {
  const bool trains = state() == Session::State::kRunning || state() == Session::State::kPaused;
  if (!trains || script_) return failure("only a worker that trains can be restarted");
  if (!checkpoint_) {
    return failure("the worker has no files for a checkpoint: stop it and run it again");
  }
  restart_ = settings;
  putRestartSettings(options_, restartSettingsOf(options_), settings);
  session_->stop();
  return {};
}

Result<void> Run::continueRun() {
  if (!continuation_) return failure("there is no run to continue");
  const AbortRecovery::Next next = *continuation_;
  const QString how = continuedHow_;
  if (target_ && !next.startsAgain) target_->path = continuationName(firstFile_);
  auto started = launch(next.options);
  if (started) emit continued(how);
  return started;
}

QString Run::continues(const QString& what) const {
  const QString name = QString::fromStdString(recordingPath_.filename().string());
  return what.isEmpty() ? name : QStringLiteral("%1: %2").arg(name, what);
}

void Run::findContinuation(const RunEnd& end) {
  if (script_ || !checkpoint_) return;
  if (restart_) {
    findRestart(end);
    return;
  }
  findRecovery(end);
  if (!continuation_ && before_ && end.reason == RunEnd::Reason::kFailed &&
      store_.steps().records.empty()) {
    continuation_ = before_;
    putRestartSettings(options_, restartSettingsOf(options_), restartSettingsOf(before_->options));
    continuedHow_ =
        tr("Continued from step %1, with the settings of before").arg(continuation_->fromStep);
  }
}

void Run::findRestart(const RunEnd& end) {
  const RestartSettings wanted = *restart_;
  restart_.reset();
  if (end.reason != RunEnd::Reason::kStopped || !store_.run() || !store_.hello()) {
    emit problem(tr("Not restarted: the run had ended before"));
    return;
  }
  const std::uint32_t step = checkpoint_->step().value_or(0);
  const RestartSettings inUse = restartSettingsOf(*store_.hello());
  const QString what = restartText(inUse, wanted);
  session::LaunchOptions options = session::continuedOptions(
      launched_, *store_.run(), store_.lastingKnobs(), store_.runningStep(), continues(what));
  options.probeLevel = store_.probeLevel();
  if (step == 0) options.continues.clear();
  before_ = AbortRecovery::Next{.options = options, .fromStep = step, .how = what};
  putRestartSettings(options, inUse, wanted);
  if (wanted.device == "cpu") options.memoryFraction = 0;
  continuation_ = AbortRecovery::Next{.options = options, .fromStep = step, .how = what};
  continuedHow_ = step > 0 ? tr("Continued from step %1: %2").arg(step).arg(what)
                           : tr("Started anew, as no step was trained: %1").arg(what);
  continuesAtOnce_ = true;
}

void Run::findRecovery(const RunEnd& end) {
  const auto next =
      recovery_.after(AbortRecovery::Ended::of(end, launched_, store_, continues({})));
  if (!next) whyNotContinued_ = QString::fromStdString(next.error().message);
  if (!next || !*next) return;
  const AbortRecovery::Next& found = continuation_.emplace(**next);
  continuedHow_ = found.fromStep > 0
                      ? tr("Continued from step %1: %2").arg(found.fromStep).arg(found.how)
                      : tr("Started anew: %1").arg(found.how);
  continuesAtOnce_ = options_.afterAbort == session::AfterAbort::kRestart;
  if (found.startsAgain) dropRecording();
}

Result<void> Run::runScript(const session::ScriptOptions& script, const QString& name) {
  if (auto usable = session::checkScript(script); !usable) return usable;
  // A copy: the script that runs again may be script_ itself.
  return begin(session::programText(script.command), name, [this, script] {
    script_ = script;
    return std::make_unique<Session>(script);
  });
}

Result<void> Run::begin(const QString& program, const QString& name,
                        const std::function<std::unique_ptr<Session>()>& makeSession) {
  if (live()) return failure("a run is going on: stop it before the next");
  auto target = targetFor(program, name);
  if (!target) return target.error();
  auto output = std::make_unique<RecordingOutput>(*target);
  if (target->begins == RecordingTarget::Begins::kAtOnce) {
    if (auto begun = output->begin(); !begun) return begun;
  }
  forgetRun();
  store_.clear();
  output_ = std::move(output);
  keepsRecording_ = true;
  recordingPath_ = target->path;
  condition_ = {};
  session_ = makeSession();
  session_->addSink(output_.get());
  session_->addSink(&store_);
  if (listener_) session_->addSink(listener_);
  connect(session_.get(), &Session::stateChanged, this, &Run::onState);
  connect(session_.get(), &Session::commandAnswered, this, &Run::commandAnswered);
  connect(session_.get(), &Session::linePrinted, this, &Run::linePrinted);
  connect(session_.get(), &Session::openLineChanged, this, &Run::openLineChanged);
  connect(session_.get(), &Session::stalled, this, &Run::stalled);
  connect(session_.get(), &Session::stallEnded, this, &Run::stallEnded);
  connect(session_.get(), &Session::ended, this, &Run::finish);
  connect(session_.get(), &Session::programEnded, this, &Run::scriptEnded);
  connect(session_.get(), &Session::received, this, [this] {
    if (outputProblem_.empty()) tellOutputProblem();
    emit dataChanged();
  });
  emit runReplaced();
  session_->start();
  return {};
}

void Run::forgetRun() {
  followTimer_.stop();
  sweep_.reset();
  try_.reset();
  session_.reset();
  restart_.reset();
  continuation_.reset();
  continuesAtOnce_ = false;
  whyNotContinued_.clear();
  outputProblem_.clear();
  fileIsGone_ = false;
}

/// Where the recording of a run of `program` goes; `name` is the user's, if there is one.
Result<RecordingTarget> Run::targetFor(const QString& program, const QString& name) const {
  if (target_) return *target_;
  auto path = name.isEmpty() ? newRecordingPath(fileNameFor(program), Naming::kWithTime)
                             : newRecordingPath(name, Naming::kAsGiven);
  if (!path) return path.error();
  return RecordingTarget{.path = *path, .begins = RecordingTarget::Begins::kAtOnce};
}

void Run::onState(Session::State state) {
  if (state == Session::State::kRunning && !output_->begun()) {
    if (auto begun = output_->begin(); !begun) {
      outputProblem_ = begun.error().message;
      emit problem(QString::fromStdString(outputProblem_));
    }
  }
  emit stateChanged();
}

Result<void> Run::open(const fs::path& path) {
  if (live()) return failure("a run is going on: stop it before opening a recording");
  // Into another store first: if the file turns out to be broken, the run on screen stays.
  analysis::LiveStore loaded;
  auto soFar = std::make_shared<ReadSoFar>();
  auto condition = loadReadablePart(path, loaded, {{}, {}, soFar});
  if (!condition) return condition.error();
  return show(path, std::move(loaded), std::move(*condition), std::move(soFar));
}

Result<void> Run::show(const fs::path& path, analysis::LiveStore&& read,
                       RecordingCondition&& condition, std::shared_ptr<ReadSoFar> soFar) {
  if (live()) return failure("a run is going on: stop it before opening a recording");
  forgetRun();
  script_.reset();
  const std::uint64_t revision = store_.revision();
  // Gigabytes are not freed in the time of a frame.
  auto* old = new analysis::LiveStore(std::move(store_));
  QThreadPool::globalInstance()->start([old] { delete old; });
  const std::size_t budget = store_.memoryBudget();
  store_ = std::move(read);
  store_.setMemoryBudget(budget);
  store_.newerThan(revision);
  condition_ = std::move(condition);
  recordingPath_ = path;
  closedBytes_ = bytesOf(path);
  soFar_ = std::move(soFar);
  emit runReplaced();
  emit stateChanged();
  emit dataChanged();
  if (condition_.beingWritten && soFar_) followTimer_.start();
  return {};
}

void Run::setMemoryBudget(std::size_t bytes) {
  store_.setMemoryBudget(bytes);
  emit dataChanged();
}

void Run::showReadBack(analysis::OpColumns::ReadBack ops) {
  store_.showReadBack(std::move(ops));
  emit dataChanged();
}

void Run::readOn() {
  if (!showsFile() || !soFar_) {
    followTimer_.stop();
    return;
  }
  const std::int64_t before = soFar_->batches;
  const auto goesOn = run::readOn(recordingPath_, *soFar_, store_, kMostBatchesAtOnce, runId());
  closedBytes_ = bytesOf(recordingPath_);
  if (soFar_->batches != before) emit dataChanged();
  if (goesOn && *goesOn) return;
  followTimer_.stop();
  condition_.beingWritten = false;
  emit stateChanged();
  if (!goesOn) {
    emit problem(QString::fromStdString(goesOn.error().message));
  } else {
    emit writtenToEnd();
  }
}

Result<void> Run::saveAs(const fs::path& path) const {
  if (recordingPath_.empty() || output_) return failure("there is no finished recording to save");
  std::error_code error;
  if (fs::equivalent(recordingPath_, path, error)) {
    return failure("this is the recording itself: choose another name");
  }
  if (store::isBeingWritten(path)) return store::beingWritten(path);
  const auto held = readRunId(recordingPath_);
  if (!held) return held.error();
  if (*held != runId()) return holdsAnotherRun(recordingPath_);
  return store::copyRecording(recordingPath_, path);
}

void Run::noteRenamed(const fs::path& path, const fs::path& newPath) {
  std::error_code ignored;
  if (fs::weakly_canonical(recordingPath_, ignored) == fs::weakly_canonical(path, ignored)) {
    recordingPath_ = newPath;
  }
}

void Run::pauseOrResume() {
  if (session_) {
    const bool paused = state() == Session::State::kPaused;
    session_->request(paused ? CommandAction(ResumeTraining{}) : CommandAction(PauseTraining{}));
  }
}

void Run::stop() {
  restart_.reset();
  continuesAtOnce_ = false;
  if (!live()) return;
  stopTry();
  if (session_->state() != Session::State::kStopping) stopping_.start();
  if (sweeps() && !script_) {
    // The step in progress is one of the sweep's, which no training needs.
    QTimer::singleShot(kSweepStopGrace, session_.get(), [session = session_.get()] {
      if (session->state() == Session::State::kStopping) session->abort();
    });
  }
  session_->stop();
}

bool Run::mayKill() const {
  return scriptRuns() && session_->state() == Session::State::kStopping && stopping_.isValid() &&
         stopping_.hasExpired(kKillOfferedMs);
}

void Run::killScript() {
  if (session_) session_->killProgram();
}

void Run::emptyCache() {
  if (session_) {
    session_->request(EmptyCache{});
  }
}

void Run::setKnobs(const SetKnobs& change) {
  if (live()) {
    session_->request(change);
    return;
  }
  for (const Knob& knob : allKnobs()) {
    if (const auto value = knob.requested(change)) knob.put(options_, *value);
  }
}

Result<void> Run::startSweep(SweepRunOptions options) {
  if (!live()) return failure("a sweep needs a run that trains");
  if (sweeps()) return failure("a sweep is going on");
  if (tries()) return failure("a fix is being tried");
  auto sweep = std::make_unique<SweepRun>(session_.get(), &store_, std::move(options));
  if (auto started = sweep->start(); !started) return started;
  sweep_ = std::move(sweep);
  connect(sweep_.get(), &SweepRun::changed, this, &Run::sweepChanged);
  connect(sweep_.get(), &SweepRun::finished, this, &Run::keepSweep);
  emit sweepChanged();
  return {};
}

Result<void> Run::startTry(const analysis::Finding& finding) {
  return startTry([&](TryRun& tried) { return tried.start(finding); });
}

Result<void> Run::startTry(const std::string& knob, const std::string& value) {
  return startTry([&](TryRun& tried) { return tried.startWithKnob(knob, value); });
}

Result<void> Run::startTry(const std::function<Result<void>(TryRun&)>& begin) {
  if (!live()) return failure("a fix is tried in a run that trains");
  if (sweeps()) return failure("a sweep is going on");
  if (tries() || store_.tries()) {
    return failure("another try is going on, or ends with the step");
  }
  auto started = std::make_unique<TryRun>(session_.get(), &store_);
  if (auto begun = begin(*started); !begun) return begun;
  try_ = std::move(started);
  connect(try_.get(), &TryRun::changed, this, &Run::tryChanged);
  connect(try_.get(), &TryRun::finished, this, &Run::tryChanged);
  emit tryChanged();
  return {};
}

void Run::stopTry() {
  if (try_) try_->interrupt();
}

void Run::stopSweep() {
  if (sweep_) sweep_->interrupt();
}

void Run::keepSweep() {
  for (const Note& note : sweep_->unsavedNotes()) {
    if (recordingPath_.empty()) break;
    if (auto kept = appendNote(recordingPath_, note, runId()); !kept) {
      emit problem(tr("The recording does not have the result of the sweep: %1")
                       .arg(QString::fromStdString(kept.error().message)));
      break;
    }
    store_.apply(note);
  }
  closedBytes_ = bytesOf(recordingPath_);
  emit sweepChanged();
  emit dataChanged();
}

Result<std::string> Run::applySetting(tuning::Setting setting) {
  auto found = sweep_ && sweep_->script() ? Result<ScriptSetting>(*sweep_->script())
                                          : ScriptSetting::find(store_, {});
  if (!found) return found.error();
  if (!found->setsLength() && setting.length != found->own().length) {
    return failure("no knob of the script sets its length");
  }
  const std::string what = tuning::settingText(setting);
  if (live()) {
    for (const SetScriptKnob& each : found->valuesAt(setting)) turn(each);
    return "asked the script for " + what;
  }
  return what + ": " + found->howToSet(setting, script_ ? script_->command : QStringList());
}

void Run::turn(const SetScriptKnob& change) {
  if (session_) session_->request(change);
}

void Run::setProbeLevel(const SetProbeLevel& change) {
  if (live()) {
    session_->request(change);
    return;
  }
  if (change.steps > 0) {
    return;  // only a live run has steps
  }
  if (script_) {
    script_->probeLevel = QString::fromUtf8(probeLevelKey(change.level));
  } else {
    options_.probeLevel = change.level;
  }
}

Result<void> Run::acceptFallback(const std::string& op, bool accepted, const std::string& reason) {
  const auto made = accepted ? makeAcceptance(op, reason) : makeWithdrawal(op);
  if (!made) return made.error();
  if (live()) {
    session_->acceptFallback(*made);
    return {};
  }
  if (recordingPath_.empty()) return failure("there is no recording to keep it in");
  if (auto kept = appendAcceptance(recordingPath_, *made, runId()); !kept) return kept;
  store_.apply(*made);
  closedBytes_ = bytesOf(recordingPath_);
  emit dataChanged();
  return {};
}

Result<void> Run::addNote(std::int64_t timeNs, const std::string& text) {
  if (text.starts_with(kTryPrefix)) {
    return usageError("notes that begin with \"" + std::string(kTryPrefix) +
                      "\" are Highwater's own");
  }
  const auto note = makeNote(timeNs, store_.stepAt(timeNs), text);
  if (!note) return note.error();
  if (store_.noteCount() >= wire::kMaxNotes) {
    return failure("it has " + std::to_string(wire::kMaxNotes) +
                   " notes already, which is the most");
  }
  if (live()) {
    return session_->addNote(*note) ? Result<void>()
                                    : failure("the run has not begun to train yet");
  }
  if (recordingPath_.empty()) return failure("there is no recording to keep it in");
  if (auto kept = appendNote(recordingPath_, *note, runId()); !kept) return kept;
  store_.apply(*note);
  closedBytes_ = bytesOf(recordingPath_);
  emit dataChanged();
  return {};
}

void Run::abandon() {
  restart_.reset();
  // The user's program goes on, at its own settings.
  if (script_) {
    stopSweep();
    stopTry();
  }
  if (live()) session_->abort();
  closeOutput();
}

std::optional<RunId> Run::runId() const {
  return store_.hello() ? std::optional(runIdOf(*store_.hello())) : std::nullopt;
}

Session::State Run::state() const {
  return session_ ? session_->state() : Session::State::kIdle;
}

bool Run::live() const {
  return session_ && state() != Session::State::kIdle && state() != Session::State::kEnded;
}

std::optional<session::ProcessExit> Run::scriptExit() const {
  return script_ && session_ ? session_->programExit() : std::nullopt;
}

QString Run::remoteRecording() const {
  return script_ && session_ ? session_->remoteRecording() : QString();
}

void Run::relay(const Command& command) {
  if (session_) session_->relay(command);
}

qint64 Run::scriptProcessId() const {
  return script_ && session_ ? session_->workerProcessId() : 0;
}

qint64 Run::processLeftBehind() const {
  return session_ ? session_->processLeftBehind() : 0;
}

void Run::signalScript(int signal) const {
  if (session_) session_->signalProgram(signal);
}

bool Run::showsFile() const {
  return !session_ && !recordingPath_.empty();
}

std::uint64_t Run::recordingBytes() const {
  return output_ ? output_->fileBytes() : closedBytes_;
}

QStringList Run::lastLines() const {
  return session_ ? session_->lastLines() : QStringList();
}

std::string Run::recordingLine() const {
  if (recordingPath_.empty()) return {};
  const std::string path = recordingPath_.string();
  std::error_code ignored;
  if (!fs::exists(recordingPath_, ignored)) return "none: there is no file " + path + " any more";
  if (fileIsGone_) return "none: " + path + " is another file by now";
  const std::string size = path + " (" + formatBytes(closedBytes_) + ')';
  return outputProblem_.empty() ? size : size + ", which lacks the end of the run";
}

void Run::tellOutputProblem() {
  const std::string problemNow = output_ ? output_->errorText() : std::string();
  if (problemNow == outputProblem_) return;
  outputProblem_ = problemNow;
  emit problem(QString::fromStdString(problemNow));
}

void Run::closeOutput() {
  if (!output_) return;
  if (!output_->begun() || !store_.hello() || !keepsRecording_) {
    output_->discard();  // no step began: there is nothing to keep
    recordingPath_.clear();
  } else if (auto closed = output_->close(); !closed) {
    fileIsGone_ = closed.error().code == ErrorCode::kNotFound;
    tellOutputProblem();  // now it is known how much was lost, and where the rest is
  }
  output_.reset();
  closedBytes_ = bytesOf(recordingPath_);
}

void Run::finish(const RunEnd& end) {
  continuesAtOnce_ = false;
  findContinuation(end);
  closeOutput();
  emit stateChanged();
  emit dataChanged();
  emit ended(end);
  if (!continuesAtOnce_) return;
  // From the event loop: the session is still on the stack.
  QTimer::singleShot(0, this, [this] {
    if (!continuesAtOnce_ || live()) return;
    continuesAtOnce_ = false;
    if (auto started = continueRun(); !started) {
      emit problem(QString::fromStdString(started.error().message));
    }
  });
}

}  // namespace highwater::run
