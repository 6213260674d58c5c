#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "analysis/live_store.h"
#include "core/restart_settings.h"
#include "run/abort_recovery.h"
#include "run/recording_loader.h"
#include "run/recording_output.h"
#include "run/run_id.h"
#include "run/sweep_run.h"
#include "run/try_run.h"
#include "session/script_process.h"
#include "session/session.h"

namespace highwater::run {

/// The run of the window or of a command: live, with a worker or the user's program and a
/// recording, or opened from a file. Owns the store that everything on screen is drawn from, and
/// decides what happens after an abort.
class Run final : public QObject {
  Q_OBJECT

 public:
  explicit Run(session::LaunchOptions options, QObject* parent = nullptr);
  ~Run() override;

  /// The data of the run on screen.
  [[nodiscard]] const analysis::LiveStore& store() const { return store_; }
  /// Sets the memory that the store may take: see analysis::LiveStore::setMemoryBudget().
  void setMemoryBudget(std::size_t bytes);
  /// Shows ops that were read back from the recording: see analysis::OpColumns::showReadBack().
  void showReadBack(analysis::OpColumns::ReadBack ops);
  /// The options of the next run.
  [[nodiscard]] session::LaunchOptions& options() { return options_; }

  /// For a command, before its run: its recording becomes `target`, and that of a run which
  /// continues it has continuationName(). Without this a recording lies in the recordings folder,
  /// and a worker always keeps a checkpoint, for restart().
  void recordTo(RecordingTarget target);

  /// Starts a worker and its recording. Errors: kFailed while a run is live; those of
  /// RecordingOutput::begin() for a recording that begins at once, and of CheckpointFiles::create()
  /// where a command needs a checkpoint.
  [[nodiscard]] Result<void> runWorkload();
  /// Ends the worker of the live run and starts another one with these settings, which continues
  /// the training where it was, in a recording of its own. The next runs have them too. Errors:
  /// kFailed where no worker of this window trains, or it keeps no checkpoint.
  [[nodiscard]] Result<void> restart(const RestartSettings& settings);
  /// How the run that has ended can be continued: after an abort with half of the batch, and after
  /// a restart that failed with the settings of before. nullopt for any other end.
  [[nodiscard]] const std::optional<AbortRecovery::Next>& continuation() const {
    return continuation_;
  }
  /// Whether the run that has ended will be continued without being asked, unless stop() is called
  /// before the event loop is entered.
  [[nodiscard]] bool continuesAtOnce() const { return continuesAtOnce_; }
  /// Why the run that was aborted cannot be continued; empty for any other end.
  [[nodiscard]] QString whyNotContinued() const { return whyNotContinued_; }
  /// Starts the worker of continuation() and its recording. Errors: those of run(), and kFailed
  /// without a continuation.
  [[nodiscard]] Result<void> continueRun();
  /// Starts the user's own program and its recording, whose file is called `name`, or after the
  /// program and the time if that is empty. Errors: those of run() and session::checkScript().
  [[nodiscard]] Result<void> runScript(const session::ScriptOptions& script, const QString& name);
  /// Whether that program runs.
  [[nodiscard]] bool scriptRuns() const { return script_ && session_ && session_->programRuns(); }
  /// The id of that program's process until it trains; 0 without one.
  [[nodiscard]] qint64 scriptProcessId() const;
  /// The id of a process that it has left behind; 0: none.
  [[nodiscard]] qint64 processLeftBehind() const;
  /// Where the host on another machine records it, as HOST:PATH; empty for any other run.
  [[nodiscard]] QString remoteRecording() const;
  /// Gives each message of the next run to `listener` too, which must outlive it: a host on
  /// another machine, whose commands come back through relay().
  void setListener(MessageSink* listener) { listener_ = listener; }
  /// Sends on a command of that host: see session::Session::relay().
  void relay(const Command& command);
  /// Sends that program a signal, while it runs.
  void signalScript(int signal) const;
  /// How that program ended; empty while it runs, and where none was started.
  [[nodiscard]] std::optional<session::ProcessExit> scriptExit() const;
  /// The user's program that runs or ran; empty for the built-in workload and a run opened from a
  /// file.
  [[nodiscard]] const std::optional<session::ScriptOptions>& script() const { return script_; }
  /// Opens a recording and shows it as the current run. Errors: kFailed while a run is live, and
  /// those of loadReadablePart(); then the run on screen stays.
  [[nodiscard]] Result<void> open(const std::filesystem::path& path);
  /// Shows a recording that has been read from `path` as the current run. While another process
  /// writes it, what is new is read on from `soFar`, with dataChanged(). Error: kFailed while a run
  /// is live.
  [[nodiscard]] Result<void> show(const std::filesystem::path& path, analysis::LiveStore&& read,
                                  RecordingCondition&& condition,
                                  std::shared_ptr<ReadSoFar> soFar = {});
  /// Copies the recording on screen to `path`, and overwrites a file there. Errors: kFailed if
  /// there is no recording, if it is still being written, if its file holds another run by now, or
  /// if `path` is the recording itself or cannot be written; kExists if a recording is being
  /// written to `path`.
  [[nodiscard]] Result<void> saveAs(const std::filesystem::path& path) const;
  /// The file of a recording has another name now, which may be the one on screen.
  void noteRenamed(const std::filesystem::path& path, const std::filesystem::path& newPath);
  /// Asks the worker to pause or, if it is paused, to resume. The answer comes as
  /// commandAnswered(). Does nothing without a session.
  void pauseOrResume();
  /// Asks the worker to stop. ended() follows when it has. Does nothing without a session.
  void stop();
  /// Whether the user's program has not ended for some seconds though it was asked to stop: it may
  /// ignore SIGINT, as what a shell starts in the background does.
  [[nodiscard]] bool mayKill() const;
  /// Kills the user's program, and what it has started, as a launcher starts the training.
  void killScript();
  /// Asks the worker to empty the allocator's cache. The answer comes as commandAnswered(). Does
  /// nothing without a session.
  void emptyCache();
  /// Changes batch size, sequence length or loss interval of the live run or, without one, of the
  /// next run. Fields that are not set stay. A live run answers with commandAnswered().
  void setKnobs(const SetKnobs& change);
  /// Starts a sweep of the live run: see SweepRun. Errors: kFailed without a live run and
  /// during another sweep, and those of SweepRun::start().
  [[nodiscard]] Result<void> startSweep(SweepRunOptions options);
  /// Ends the sweep, which keeps its results. Does nothing without one.
  void stopSweep();
  /// Tries the live run without the waits of a finding: see TryRun. Errors: kFailed without a live
  /// run, during a sweep or another try, and those of TryRun::start().
  [[nodiscard]] Result<void> startTry(const analysis::Finding& finding);
  /// The same of another value of a knob: see triedKnobOf().
  [[nodiscard]] Result<void> startTry(const std::string& knob, const std::string& value);
  /// Ends the try. Does nothing without one.
  void stopTry();
  /// The last try of the run on screen, if it was started here; else nullptr.
  [[nodiscard]] const TryRun* tried() const { return try_.get(); }
  /// Whether a try leaves out waits of the live run.
  [[nodiscard]] bool tries() const { return try_ && try_->isRunning(); }
  /// The last sweep of the run on screen, if it was started here; else nullptr.
  [[nodiscard]] const SweepRun* sweep() const { return sweep_.get(); }
  /// Whether a sweep sets the knobs of the live run.
  [[nodiscard]] bool sweeps() const { return sweep_ && sweep_->isRunning(); }
  /// Turns the knobs of the user's script to a setting; what is said of it. Where the script has
  /// ended, nothing but how to set it in the next run. Errors: those of ScriptSetting::find(), and
  /// kFailed where the script's knobs set no such length.
  [[nodiscard]] Result<std::string> applySetting(tuning::Setting setting);
  /// Asks the user's script for a new value of one of its knobs. The answer comes as
  /// commandAnswered(). Does nothing without a session.
  void turn(const SetScriptKnob& change);
  /// Changes how much the probe of the live run or, without one, of the next run records. A change
  /// for a number of steps needs a live run and is ignored without one.
  void setProbeLevel(const SetProbeLevel& change);
  /// Records that the user accepts that an op runs on the CPU, or withdraws that (`accepted`
  /// false). Goes through the session of a live run, else to the end of the file. Errors: kUsage
  /// for an invalid op or reason, kFailed without a recording, and those of
  /// appendAcceptance().
  [[nodiscard]] Result<void> acceptFallback(const std::string& op, bool accepted,
                                            const std::string& reason);
  /// Records a note of the user at a time of the run, in ns since its start. Goes through the
  /// session of a live run, else to the end of the file. Errors: kUsage for a text that is too
  /// long, kFailed without a recording or where it has wire::kMaxNotes notes, and those of
  /// appendNote().
  [[nodiscard]] Result<void> addNote(std::int64_t timeNs, const std::string& text);
  /// Kills the worker, or lets go of the user's program, which runs on, and closes the recording:
  /// for when the window closes. Does nothing without a run.
  void abandon();

  /// The state of the session; kIdle without one, also for a run opened from a file.
  [[nodiscard]] session::Session::State state() const;
  [[nodiscard]] bool live() const;       ///< there is a worker
  [[nodiscard]] bool showsFile() const;  ///< the run was opened from a file
  /// Whether a recording is being written.
  [[nodiscard]] bool recording() const { return output_ && output_->begun(); }
  /// The file of the run on screen; empty if there is none.
  [[nodiscard]] std::filesystem::path recordingPath() const { return recordingPath_; }
  /// The recording of a run that has ended, for its summary: file, size and what it lacks, or
  /// "none: …" where the file is gone by now. Empty if there was none.
  [[nodiscard]] std::string recordingLine() const;
  /// Why the recording of the live run, or of the last one, is not complete; empty if it is.
  [[nodiscard]] std::string recordingProblem() const { return outputProblem_; }
  /// Removes the recording of the live run when the run has ended.
  void dropRecording() { keepsRecording_ = false; }
  /// Which run is on screen; empty without one.
  [[nodiscard]] std::optional<RunId> runId() const;
  /// The condition of the recording that was last opened, such as whether its end is missing.
  [[nodiscard]] const RecordingCondition& condition() const { return condition_; }
  /// The size of the recording in bytes; 0 if there is none.
  [[nodiscard]] std::uint64_t recordingBytes() const;
  /// The last lines that the worker printed; empty for a run opened from a file.
  [[nodiscard]] QStringList lastLines() const;

 signals:
  /// The recording on screen, which another process was writing, is complete now.
  void writtenToEnd();
  /// The state of the run has changed: see state().
  void stateChanged();
  /// The store now holds another run, or none.
  void runReplaced();
  /// The store has new data.
  void dataChanged();
  /// The sweep has begun, measures another setting, or is over.
  void sweepChanged();
  /// A try has begun, has measured more, or is over.
  void tryChanged();
  /// The worker accepted or refused a command.
  void commandAnswered(const highwater::CommandAnswer& answer);
  /// The worker or the user's program printed a line.
  void linePrinted(const QString& line);
  /// What the user's program has printed of a line that has not ended; empty: it has.
  void openLineChanged(const QString& line);
  /// The training stands still for longer than the hang timeout, but the worker lives. `message`
  /// describes where. The run goes on.
  void stalled(const QString& message);
  /// The training moves again, or the run is over.
  void stallEnded();
  /// A new worker continues the run that has ended; `what` says how, as a sentence.
  void continued(const QString& what);
  /// The worker is gone and the recording is closed.
  void ended(const highwater::RunEnd& end);
  /// The user's program is gone; after ended() where abandon() let go of it.
  void scriptEnded();
  /// A problem that does not end the run, such as a full disk for the recording.
  void problem(const QString& message);

 private:
  [[nodiscard]] Result<RecordingTarget> targetFor(const QString& program,
                                                  const QString& name) const;
  [[nodiscard]] Result<void> begin(
      const QString& program, const QString& name,
      const std::function<std::unique_ptr<session::Session>()>& makeSession);
  /// Ends what belongs to the run on screen, and clears what is known of its end, before another
  /// one takes its place.
  void forgetRun();
  void onState(session::Session::State state);
  void finish(const RunEnd& end);
  /// Starts a worker and its recording.
  [[nodiscard]] Result<void> launch(const session::LaunchOptions& options);
  /// Finds out how the run that has ended so can be continued.
  void findContinuation(const RunEnd& end);
  void findRestart(const RunEnd& end);
  void findRecovery(const RunEnd& end);
  /// "run.highwater: what", for the recording that continues this one.
  [[nodiscard]] QString continues(const QString& what) const;
  /// Reads what another process has written into the recording on screen.
  void readOn();
  void closeOutput();
  /// Appends the notes of a sweep that the run had ended before.
  void keepSweep();
  [[nodiscard]] Result<void> startTry(const std::function<Result<void>(TryRun&)>& begin);
  /// Emits problem() if the recording has one that has not been told in these words.
  void tellOutputProblem();

  session::LaunchOptions options_;
  session::LaunchOptions launched_;  ///< of the worker that runs or ran last
  std::shared_ptr<const session::CheckpointFiles> checkpoint_;  ///< of the training
  AbortRecovery recovery_;
  QElapsedTimer stopping_;                  ///< since the first stop(); not valid before
  std::optional<RestartSettings> restart_;  ///< as soon as the worker has stopped
  std::optional<AbortRecovery::Next> continuation_;
  std::optional<AbortRecovery::Next> before_;  ///< with the settings from before a restart
  bool continuesAtOnce_ = false;
  bool keepsRecording_ = true;
  QString whyNotContinued_, continuedHow_;
  analysis::LiveStore store_;
  std::optional<RecordingTarget> target_;  ///< of a command's next run
  std::filesystem::path firstFile_;        ///< of a command's first run
  std::unique_ptr<RecordingOutput> output_;
  MessageSink* listener_ = nullptr;
  std::unique_ptr<session::Session>
      session_;  ///< declared after its sinks, because it must be destroyed first
  std::unique_ptr<SweepRun> sweep_;  ///< uses session_
  std::unique_ptr<TryRun> try_;      ///< uses session_
  std::optional<session::ScriptOptions> script_;
  std::filesystem::path recordingPath_;
  RecordingCondition condition_;
  std::shared_ptr<ReadSoFar> soFar_;  ///< of the recording that was opened last
  QTimer followTimer_;                ///< runs while another process writes that
  std::uint64_t closedBytes_ = 0;
  std::string outputProblem_;  ///< as the user has been told, empty if there is none
  bool fileIsGone_ = false;    ///< what was recorded is not at recordingPath_
};

}  // namespace highwater::run
