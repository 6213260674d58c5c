#pragma once

#include <QObject>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "core/command_answer.h"
#include "core/result.h"
#include "run/script_setting.h"
#include "session/session.h"
#include "tuning/sweep.h"
#include "tuning/sweep_planner.h"

namespace highwater::run {

/// What a SweepRun measures. In `sweep`, largestBatch 0 stands for the run's own maximum, no
/// lengths for the run's current length; memory, known sizes and start are taken from the run.
struct SweepRunOptions {
  tuning::SweepOptions sweep{.lengths = {}};
  std::uint32_t measuredSteps = 8;  ///< at each setting, after the warm-up
  /// What is recorded outside of the few steps whose ops are recorded, and afterwards. nullopt: the
  /// level that the run had before the sweep, not counting one that was set for a few steps.
  std::optional<events::ProbeLevel> level = std::nullopt;
  /// Whether the run's own setting is measured first even if none of its steps was recorded yet,
  /// because the user named it. Otherwise a run that has not trained begins with firstSweepBatch().
  bool startsWithRun = false;
  bool appliesBest = false;  ///< afterwards: the recommended setting, not the one from before
  SweptKnobs knobs = {};     ///< of a script
};

/// The largest batch that a sweep tries where no memory limit ends it and the user gave none.
inline constexpr std::uint32_t kMostBatchWithoutLimit = 64;

/// Seconds that the steps of one setting may take, unless the user sets it.
inline constexpr double kLongestSettingS = 60;
/// The time that a run may take to stop after a sweep was interrupted in it; then it is ended.
inline constexpr std::chrono::milliseconds kSweepStopGrace{3000};

/// The batch with which a sweep begins where nothing is known: small enough for any device.
[[nodiscard]] std::uint32_t firstSweepBatch(std::uint32_t smallest, std::uint32_t largest);

/// Drives one live session through a sweep: sets each setting that the planner asks for, lets it
/// train, and reads what it took. While the next setting is computed, on a thread of its own, the
/// training is paused. Each measured setting and the result become notes of the recording. Use it
/// on the session's thread.
///
/// A script is set by its own knobs, and only once it has trained for some steps. A new size comes
/// when the script takes it, which is late where workers have fetched batches ahead: a setting is
/// measured from the first step that shows it.
class SweepRun final : public QObject {
  Q_OBJECT

 public:
  /// `session` and `store`, its sink, are not owned and must outlive this object.
  SweepRun(session::Session* session, const analysis::LiveStore* store, SweepRunOptions options,
           QObject* parent = nullptr);
  /// Does not wait for a plan in progress, which then goes nowhere.
  ~SweepRun() override;

  /// Begins. Call it once, when the session trains. Fails with kFailed if it does not, and as
  /// ScriptSetting::find() and tuning::SweepPlanner::make() do; then finished() does not follow.
  /// Where a script has not trained for long enough, the sweep ends later for such a reason.
  [[nodiscard]] Result<void> start();
  /// Ends the sweep with what it has, at once: finished() is emitted in this call, or with the end
  /// of the run. The step in progress ends in its own time, and then the knobs from before follow.
  void interrupt();

  [[nodiscard]] bool isRunning() const { return phase_ != Phase::kIdle && !isFinished(); }
  [[nodiscard]] bool isFinished() const { return phase_ == Phase::kFinished; }
  /// Whether the device has memory to compare; false for the CPU.
  [[nodiscard]] bool hasMemory() const { return options_.sweep.hasMemory; }
  /// The limit that no setting may exceed, in bytes; 0: none is known.
  [[nodiscard]] std::uint64_t limitBytes() const { return limitBytes_; }
  /// What was measured so far, and judged: without the newest setting while the next one is
  /// computed.
  [[nodiscard]] const std::vector<tuning::SweptSetting>& settings() const {
    return result_.settings;
  }
  /// The setting that is being measured; std::nullopt while the next one is computed.
  [[nodiscard]] std::optional<tuning::SweptSetting> current() const;
  /// The recommendation so far.
  [[nodiscard]] const tuning::Sweep& result() const { return result_; }
  /// Why the sweep ended before it was complete; empty if it did not.
  [[nodiscard]] const std::string& stopReason() const { return stopReason_; }
  /// The knobs that are turned, of a script that has trained for some steps; else std::nullopt.
  [[nodiscard]] const std::optional<ScriptSetting>& script() const { return script_; }
  /// Notes that the session no longer took, because the run had ended: for appendNote().
  [[nodiscard]] const std::vector<Note>& unsavedNotes() const { return unsaved_; }

 signals:
  /// Another setting is being measured, or has been.
  void changed();
  /// The sweep is over: see result().
  void finished();

 private:
  enum class Phase : std::uint8_t { kIdle, kLearning, kPlanning, kMeasuring, kFinished };

  struct PlanReceiver;

  [[nodiscard]] Result<void> beginSettings(const RunDescription& run);
  void readRun(const RunDescription& run);
  void learnScript();
  void noteLengths();
  [[nodiscard]] double mostSecondsWithoutStep() const;
  [[nodiscard]] bool standsStillAtStep() const;
  void awaitDelivery();
  void beginSteps();
  [[nodiscard]] bool sawForeignStep() const;
  void pause();
  void plan(std::optional<tuning::SweptSetting> measured, std::optional<tuning::StepTrace> trace);
  struct Plan;
  void onPlanned(Plan plan);
  void noteMeasured(tuning::Setting setting);
  void onStateChanged();
  void proceed();
  void begin();
  void measure(tuning::Setting setting, bool emptiesCache);
  void turn(tuning::Setting setting, bool emptiesCache);
  void restore(std::optional<tuning::Setting> best);
  void request(const SetKnobs& knobs, bool emptiesCache);
  void settlePause();
  void onAnswer(const CommandAnswer& answer);
  void onPauseAnswer(const CommandAnswer& answer);
  void onReceived();
  void onEnded(const RunEnd& end);
  [[nodiscard]] bool isAt(const events::StepRecord& step) const;
  [[nodiscard]] bool ranOutOfMemory() const;
  void conclude(bool outOfMemory);
  [[nodiscard]] std::vector<std::size_t> measuredRows() const;
  [[nodiscard]] std::vector<double> ratesOf(const std::vector<std::size_t>& rows) const;
  [[nodiscard]] bool wasSetToSomethingElse() const;
  [[nodiscard]] bool isOverdue() const;
  void readMemory(const std::vector<std::size_t>& rows, tuning::Observation& memory) const;
  [[nodiscard]] std::optional<tuning::StepTrace> traceOf(tuning::Setting setting) const;
  void stop(std::string reason);
  void finish();
  void addNote(std::int64_t timeNs, std::uint32_t step, const std::string& text);
  [[nodiscard]] bool isLive() const;
  [[nodiscard]] bool standsStill() const;
  [[nodiscard]] bool changesPolicy() const;
  [[nodiscard]] SetKnobs knobsAt(tuning::Setting setting, std::uint32_t accumulation) const;
  [[nodiscard]] std::uint32_t accumulationFor(std::uint32_t batch) const;

  session::Session* session_;
  const analysis::LiveStore* store_;
  SweepRunOptions options_;
  std::optional<tuning::SweepPlanner> planner_;  ///< without pending_
  /// What the thread that plans has been given.
  std::optional<tuning::SweptSetting> pending_;
  Phase phase_ = Phase::kIdle;
  std::uint64_t limitBytes_ = 0;
  tuning::Setting original_;  ///< and the knobs, from before the sweep
  Knobs originalKnobs_;
  events::ProbeLevel level_ = events::ProbeLevel::Monitor;
  bool wantsPause_ = false;  ///< the user has paused the run, before the sweep or during it
  bool settles_ = false;     ///< the sweep is over, and the run is not yet paused or not as wanted
  int pausesOpen_ = 0;       ///< requests to pause or resume that were not answered yet
  bool hasEnded_ = false;    ///< the session's ended() was emitted
  bool isPlanned_ = false;   ///< next_ is what to do now
  std::optional<tuning::SweptSetting> next_;
  std::uint32_t firstStep_ = 0;    ///< of the current setting; 0: not answered yet
  std::size_t markersBefore_ = 0;  ///< at the begin of the current setting
  std::optional<ScriptSetting> script_;
  std::uint32_t askedAt_ = 0;      ///< of a script: its last step when it was asked for the setting
  bool isDelivered_ = false;       ///< of a script: a step has shown the setting
  int begunAgain_ = 0;             ///< of a script: after how many foreign steps
  std::uint32_t shownBefore_ = 0;  ///< of a script: the batch of that last step
  std::int64_t measuringSinceNs_ = 0;  ///< the current setting
  std::size_t noted_ = 0;              ///< how many notes of settings there are
  std::vector<bool> notedSafe_;        ///< of each setting, in its newest note
  tuning::Sweep result_;
  std::string stopReason_;
  std::vector<Note> unsaved_;
  std::shared_ptr<PlanReceiver> receiver_;
};

}  // namespace highwater::run
