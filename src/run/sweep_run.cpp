#include "run/sweep_run.h"

#include <QThreadPool>
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <utility>

#include "analysis/account/memory_growth.h"
#include "core/run_limits.h"
#include "core/units.h"
#include "run/note.h"
#include "tuning/observations.h"
#include "tuning/request_trace.h"

namespace highwater::run {

using session::Session;
using tuning::Setting;
using tuning::settingOf;

namespace {

/// Steps of each setting that are not measured: caches and graphs settle, and their ops are
/// recorded where that teaches how requests grow. The first one has the past of another setting,
/// and of the others two at least are needed (tuning::tracesOf()).
constexpr std::uint32_t kWarmUpSteps = 4;
/// Steps after the last measured one until its device span is given up: a span is read once the
/// device is idle.
constexpr std::uint32_t kLateSpans = 3;
/// A script's epochs end with a batch of another size: of so many steps for each wanted one the
/// setting must be shown.
constexpr std::size_t kMostStepsPerWanted = 4;
/// A setting is begun again so often: where what was left of an epoch comes, and where an epoch
/// ends just after the cache was emptied. In some scripts batches of other sizes come all the time.
constexpr int kMostBegunAgain = 2;
/// Where each batch has another length, the longest counts, and more steps have it more likely.
constexpr std::uint32_t kFewestStepsOfLengths = 24;

}  // namespace

std::uint32_t firstSweepBatch(std::uint32_t smallest, std::uint32_t largest) {
  constexpr std::uint32_t kFirst = 8;
  return std::clamp(kFirst, smallest, std::max(smallest, largest));
}

/// What the thread that plans has found: the planner with all measurements, and what it says.
struct SweepRun::Plan {
  tuning::SweepPlanner planner;
  std::optional<tuning::SweptSetting> next;
  tuning::Sweep result;
};

/// Where the thread that plans delivers: nowhere once the sweep is gone.
struct SweepRun::PlanReceiver {
  std::mutex mutex;
  SweepRun* sweep = nullptr;

  [[nodiscard]] bool isGone() {
    const std::lock_guard lock(mutex);
    return sweep == nullptr;
  }
  void deliver(std::shared_ptr<Plan> plan) {
    const std::lock_guard lock(mutex);
    if (sweep == nullptr) return;
    QMetaObject::invokeMethod(
        sweep, [to = sweep, plan = std::move(plan)] { to->onPlanned(std::move(*plan)); },
        Qt::QueuedConnection);
  }
};

SweepRun::SweepRun(Session* session, const analysis::LiveStore* store, SweepRunOptions options,
                   QObject* parent)
    : QObject(parent),
      session_(session),
      store_(store),
      options_(std::move(options)),
      receiver_(std::make_shared<PlanReceiver>()) {
  receiver_->sweep = this;
  connect(session_, &Session::commandAnswered, this, &SweepRun::onAnswer);
  connect(session_, &Session::received, this, &SweepRun::onReceived);
  connect(session_, &Session::stateChanged, this, &SweepRun::onStateChanged);
  connect(session_, &Session::ended, this, &SweepRun::onEnded);
}

SweepRun::~SweepRun() {
  const std::lock_guard lock(receiver_->mutex);
  receiver_->sweep = nullptr;
}

bool SweepRun::isLive() const {
  return session_->state() == Session::State::kRunning ||
         session_->state() == Session::State::kPaused;
}

Result<void> SweepRun::start() {
  const auto& run = store_->run();
  if (!isLive() || !run) return failure("a sweep needs a run that trains");
  wantsPause_ = session_->state() == Session::State::kPaused;
  level_ = options_.level.value_or(session_->lastingProbeLevel().value_or(run->probeLevel));
  if (level_ == events::ProbeLevel::None) level_ = events::ProbeLevel::Monitor;
  if (run->ownScript && !ScriptSetting::hasSettled(*store_, options_.knobs)) {
    phase_ = Phase::kLearning;
    return {};
  }
  return beginSettings(*run);
}

/// Once a script has trained for some steps.
void SweepRun::learnScript() {
  if (!ScriptSetting::hasSettled(*store_, options_.knobs)) return;
  phase_ = Phase::kIdle;
  if (auto begun = beginSettings(*store_->run()); !begun) {
    phase_ = Phase::kLearning;
    stop(begun.error().message);
  }
}

Result<void> SweepRun::beginSettings(const RunDescription& run) {
  if (run.ownScript) {
    auto found = ScriptSetting::find(*store_, options_.knobs);
    if (!found) return found.error();
    script_ = std::move(*found);
    original_ = script_->own();
    if (script_->lengthsVary()) {
      options_.measuredSteps = std::max(options_.measuredSteps, kFewestStepsOfLengths);
    }
  } else {
    originalKnobs_ = store_->knobs();
    original_ = {originalKnobs_.batchSize, std::max(1U, originalKnobs_.sequenceLength)};
  }
  readRun(run);
  const tuning::SweepOptions& sweep = options_.sweep;
  const std::uint32_t mostBatch = script_ ? script_->largestBatch() : run.maxBatchSize;
  if (script_) {
    options_.sweep.largestBatch = std::min(sweep.largestBatch, mostBatch);
  } else if (mostBatch > 0 && sweep.largestBatch > mostBatch) {
    return usageError("the largest batch of the sweep is " + std::to_string(sweep.largestBatch) +
                      ", but this run takes at most " + std::to_string(mostBatch));
  }
  for (const std::uint32_t length : sweep.lengths) {
    if (run.maxSequenceLength > 0 && length > run.maxSequenceLength) {
      return usageError("the sweep has the length " + std::to_string(length) +
                        ", but this model takes at most " + std::to_string(run.maxSequenceLength) +
                        " tokens");
    }
    if (script_ && !script_->setsLength() && length != original_.length) {
      return usageError("the sweep has the length " + std::to_string(length) +
                        ", but no knob sets the script's: name it (--length-knob)");
    }
  }
  std::vector<tuning::Observation> known;
  if (sweep.hasMemory && !script_) known = tuning::observationsOf(*store_);
  const MemoryLimits limits = store_->limits();  // with the fraction that a script has set
  auto planner = tuning::SweepPlanner::make(sweep, limits, std::move(known));
  if (!planner) return planner.error();
  planner_ = std::move(*planner);
  limitBytes_ = sweep.hasMemory ? planner_->limitBytes() : 0;
  pause();
  plan(std::nullopt, std::nullopt);
  return {};
}

/// What the options leave to the run.
void SweepRun::readRun(const RunDescription& run) {
  tuning::SweepOptions& sweep = options_.sweep;
  sweep.hasMemory = store_->hasMemoryCounters();
  const bool isLimited = sweep.hasMemory && store_->limits().recommendedBytes > 0;
  if (sweep.largestBatch == 0) {
    const std::uint32_t most = script_                ? script_->largestBatch()
                               : run.maxBatchSize > 0 ? run.maxBatchSize
                                                      : kMostBatchSize;
    sweep.largestBatch =
        isLimited ? most : std::min(most, std::max(kMostBatchWithoutLimit, sweep.smallestBatch));
  }
  if (sweep.lengths.empty()) sweep.lengths = {original_.length};
  sweep.rateUnit = store_->rateUnit();
  sweep.epochSamples = tuning::epochSamplesOf(*store_);
  sweep.stepsPerSetting = kWarmUpSteps + options_.measuredSteps;
  if (script_) {
    sweep.batchMultiple = script_->batchMultiple();
    sweep.smallestBatch = std::max(sweep.smallestBatch, script_->smallestBatch());
    // Its own is known to fit, unless it is out of the bounds.
    const std::uint32_t batch = std::clamp(original_.batch, sweep.smallestBatch,
                                           std::max(sweep.smallestBatch, sweep.largestBatch));
    const bool isOfLengths = std::find(sweep.lengths.begin(), sweep.lengths.end(),
                                       original_.length) != sweep.lengths.end();
    sweep.start = Setting{batch / sweep.batchMultiple * sweep.batchMultiple,
                          isOfLengths ? original_.length : sweep.lengths.front()};
  }
  if (!sweep.start) {
    // What trains already fits, unless it is out of the bounds.
    const bool isOfLengths = std::find(sweep.lengths.begin(), sweep.lengths.end(),
                                       original_.length) != sweep.lengths.end();
    const bool isWithin = original_.batch >= sweep.smallestBatch &&
                          original_.batch <= sweep.largestBatch &&
                          original_.batch % std::max(1U, sweep.batchMultiple) == 0;
    const auto& records = store_->steps().records;
    const bool isKnown =
        options_.startsWithRun ||
        std::any_of(records.begin(), records.end(), [this](const events::StepRecord& step) {
          return settingOf(step) == original_;
        });
    const std::uint32_t first = firstSweepBatch(sweep.smallestBatch, sweep.largestBatch);
    if (isOfLengths && isWithin && (isKnown || original_.batch <= first)) {
      sweep.start = original_;
    } else if (isOfLengths && first % std::max(1U, sweep.batchMultiple) == 0) {
      sweep.start = Setting{first, original_.length};
    }
  }
  // A script may train a part of its parameters only.
  const tuning::TensorBudget budget = tuning::tensorBudget({}, tuning::modelSizesOf(run));
  sweep.knownFixed = script_ ? budget.weights : budget.fixed();
  if (sweep.knownFixed == tuning::kTooManyBytes) sweep.knownFixed = 0;
}

void SweepRun::interrupt() {
  if (isRunning()) stop("stopped by the user");
}

void SweepRun::stop(std::string reason) {
  if (stopReason_.empty()) stopReason_ = std::move(reason);
  // The recording takes no note between this state and ended(), which follows.
  if (session_->state() == Session::State::kEnded && !hasEnded_) return;
  if (phase_ == Phase::kPlanning && !isPlanned_) {
    // Nobody waits for the plan: the result is known without it.
    result_ = planner_->endedWith(pending_);
    if (pending_) noteMeasured(std::exchange(pending_, std::nullopt)->setting);
  }
  finish();
}

/// Adds the note of the setting that was measured last, once it is known whether it is safe; and of
/// those that later ones have shown to be something else.
void SweepRun::noteMeasured(Setting setting) {
  notedSafe_.resize(settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const tuning::SweptSetting& each = settings()[i];
    const bool isAsNoted = each.setting != setting && notedSafe_[i] == each.safe;
    notedSafe_[i] = each.safe;
    if (isAsNoted) continue;
    addNote(store_->completeUpToNs(), store_->runningStep(), tuning::noteOf(++noted_, each));
  }
}

void SweepRun::onStateChanged() {
  if (isRunning() && session_->state() == Session::State::kStopping) {
    return stop("the run was stopped");
  }
  proceed();
}

std::optional<tuning::SweptSetting> SweepRun::current() const {
  return phase_ == Phase::kMeasuring ? next_ : std::nullopt;
}

void SweepRun::pause() {
  if (pausesOpen_ > 0 || session_->state() != Session::State::kRunning) return;
  ++pausesOpen_;
  session_->request(PauseTraining{});
}

/// Whether the training has reached the pause. The session is paused as soon as the worker has
/// answered, while its step goes on, and is tried again with smaller batches if it runs out of
/// memory.
bool SweepRun::standsStill() const {
  if (session_->state() != Session::State::kPaused) return false;
  const auto& markers = store_->markers();
  for (auto marker = markers.rbegin(); marker != markers.rend(); ++marker) {
    if (marker->kind() == events::MarkerKind::Paused) return true;
    if (marker->kind() == events::MarkerKind::Resumed) return false;
  }
  return store_->paused();
}

void SweepRun::plan(std::optional<tuning::SweptSetting> measured,
                    std::optional<tuning::StepTrace> trace) {
  phase_ = Phase::kPlanning;
  isPlanned_ = false;
  pending_ = std::move(measured);
  QThreadPool::globalInstance()->start([to = receiver_, planner = *planner_, measured = pending_,
                                        trace = std::move(trace)]() mutable {
    if (to->isGone()) return;
    if (measured) planner.record(std::move(*measured), std::move(trace));
    if (to->isGone()) return;
    auto next = planner.next();
    if (to->isGone()) return;
    auto result = planner.result();
    to->deliver(
        std::make_shared<Plan>(Plan{std::move(planner), std::move(next), std::move(result)}));
  });
}

void SweepRun::onPlanned(Plan plan) {
  if (phase_ != Phase::kPlanning) return;
  planner_ = std::move(plan.planner);
  result_ = std::move(plan.result);
  next_ = std::move(plan.next);
  // What counts as safe is known to the planner.
  if (pending_) noteMeasured(std::exchange(pending_, std::nullopt)->setting);
  isPlanned_ = true;
  emit changed();
  proceed();
}

/// Carries out the plan once the training stands still: the cache is emptied between the last step
/// of one setting and the first of the next.
void SweepRun::proceed() {
  if (phase_ != Phase::kPlanning || !isPlanned_) return;
  // The recording takes no note between this state and ended(), which follows.
  if (session_->state() == Session::State::kEnded && !hasEnded_) return;
  if (!isLive() || !next_ || !stopReason_.empty()) return finish();
  if (session_->state() != Session::State::kPaused) return pause();
  if (standsStill()) begin();
}

void SweepRun::begin() {
  phase_ = Phase::kMeasuring;
  firstStep_ = 0;
  isDelivered_ = false;
  begunAgain_ = 0;
  measuringSinceNs_ = store_->completeUpToNs();
  markersBefore_ = store_->markers().size();
  const auto& records = store_->steps().records;
  const Setting setting = next_->setting;
  const bool isFirstOfRun =
      settings().empty() && std::all_of(records.begin(), records.end(), [&](const auto& step) {
        return settingOf(step) == setting;
      });
  // Nothing larger has left blocks in the cache, and the trace of a run's first steps stays whole.
  measure(setting, !isFirstOfRun);
  ++pausesOpen_;
  session_->request(ResumeTraining{});
  emit changed();
}

/// A setting is measured with the accumulation from before the sweep, and one that does not fit
/// must not end the run.
void SweepRun::measure(Setting setting, bool emptiesCache) {
  if (script_) return turn(setting, emptiesCache);
  SetKnobs knobs = knobsAt(setting, originalKnobs_.accumulation);
  if (originalKnobs_.keepEffectiveBatch) knobs.keepEffectiveBatch = false;
  if (changesPolicy()) knobs.outOfMemory = OutOfMemoryPolicy::kHalve;
  request(knobs, emptiesCache);
  if (hasMemory()) session_->request(SetProbeLevel{events::ProbeLevel::Ops, kWarmUpSteps});
}

/// The same for a script, whose next steps may still have the setting from before.
void SweepRun::turn(Setting setting, bool emptiesCache) {
  for (const SetScriptKnob& each : script_->valuesAt(setting)) session_->request(each);
  session_->request(SetProbeLevel{level_, 0});
  if (hasMemory() && emptiesCache) session_->request(EmptyCache{});
  const auto& records = store_->steps().records;
  askedAt_ = records.empty() ? 0 : records.back().step();
  shownBefore_ = records.empty() ? 0 : records.back().batch_size();
}

/// Waits for a step of a script that shows the setting. What the steps before it have left in the
/// cache is given back, and the warm-up begins, with the answer to the last request.
void SweepRun::awaitDelivery() {
  const auto& records = store_->steps().records;
  if (records.empty() || records.back().step() <= askedAt_) return;
  if (std::any_of(
          records.begin() + static_cast<std::ptrdiff_t>(store_->steps().firstRowFrom(askedAt_ + 1)),
          records.end(), [this](const auto& step) { return isAt(step); })) {
    isDelivered_ = true;
    return beginSteps();
  }
  const std::uint32_t shown = records.back().batch_size();
  const std::uint32_t wanted = next_->setting.batch;
  if (shown > std::max(shownBefore_, wanted)) {
    return stop("the script's steps have a batch of " + std::to_string(shown) + " where its knob " +
                script_->batchKnob() + " is " +
                std::to_string(script_->batchValue(next_->setting)) + ", and " +
                std::to_string(wanted) +
                " was expected: the batch does not grow in proportion to the knob");
  }
  const std::uint32_t late = records.back().step() - askedAt_;
  if (late < ScriptSetting::mostLateSteps(*store_)) return;
  stop("the script's steps still have a batch of " + std::to_string(shown) + ", " +
       std::to_string(late) + " steps after its knob " + script_->batchKnob() + " was set to " +
       std::to_string(script_->batchValue(next_->setting)) +
       ": a knob is to be read where each batch is made");
}

/// Empties the cache, and begins the warm-up of a script's setting with the answer.
void SweepRun::beginSteps() {
  firstStep_ = 0;
  const bool hadOthers = !settings().empty() || begunAgain_ > 0;
  if (hasMemory() && hadOthers) session_->request(EmptyCache{});
  session_->request(
      SetProbeLevel{hasMemory() ? events::ProbeLevel::Ops : level_, kWarmUpSteps + 1});
}

/// Whether a step since the cache was emptied is one that no run at the setting has: what was left
/// of an epoch that began with another setting, or a shorter batch before any other. Its blocks,
/// too small for the setting, stay beside those of the setting.
bool SweepRun::sawForeignStep() const {
  const auto& records = store_->steps().records;
  // The step before is the one in progress when the cache was emptied, or the first after it.
  const std::size_t first = store_->steps().firstRowFrom(firstStep_ - 1);
  const std::uint32_t shorter = options_.sweep.epochSamples % next_->setting.batch;
  return std::any_of(records.begin() + static_cast<std::ptrdiff_t>(first), records.end(),
                     [&](const events::StepRecord& step) {
                       const bool endsEpoch = step.batch_size() == shorter && shorter > 0;
                       return !isAt(step) && (!endsEpoch || &step == &records[first]);
                     });
}

/// Sets what was set before the sweep, with another batch and length if `best` is one.
void SweepRun::restore(std::optional<Setting> best) {
  if (script_) return turn(best.value_or(original_), true);
  if (store_->ownScript()) return;  // nothing was turned
  const bool keepsProduct = best && originalKnobs_.keepEffectiveBatch;
  SetKnobs knobs = knobsAt(best.value_or(original_), keepsProduct ? accumulationFor(best->batch)
                                                                  : originalKnobs_.accumulation);
  if (originalKnobs_.keepEffectiveBatch) knobs.keepEffectiveBatch = true;
  if (changesPolicy()) knobs.outOfMemory = originalKnobs_.outOfMemory;
  request(knobs, true);
}

/// The accumulation that comes nearest to the effective batch from before the sweep.
std::uint32_t SweepRun::accumulationFor(std::uint32_t batch) const {
  const double effective = static_cast<double>(originalKnobs_.batchSize) *
                           static_cast<double>(originalKnobs_.accumulation);
  const double nearest = std::round(effective / std::max(batch, 1U));
  return static_cast<std::uint32_t>(
      std::clamp(nearest, 1.0, static_cast<double>(kMostAccumulation)));
}

/// Batch and accumulation are always set together: otherwise a run that keeps its effective batch
/// would change one of them by what the last measured setting was.
SetKnobs SweepRun::knobsAt(Setting setting, std::uint32_t accumulation) const {
  SetKnobs knobs;
  knobs.batchSize = setting.batch;
  if (originalKnobs_.accumulation > 0) knobs.accumulation = accumulation;
  if (setting.length > 1 || store_->knobs().sequenceLength > 1) {
    knobs.sequenceLength = setting.length;
  }
  return knobs;
}

/// Whether the run does something else than to halve a batch that does not fit.
bool SweepRun::changesPolicy() const {
  return originalKnobs_.outOfMemory == OutOfMemoryPolicy::kStop ||
         originalKnobs_.outOfMemory == OutOfMemoryPolicy::kRetry;
}

void SweepRun::request(const SetKnobs& knobs, bool emptiesCache) {
  session_->request(knobs);
  session_->request(SetProbeLevel{level_, 0});
  if (hasMemory() && emptiesCache) session_->request(EmptyCache{});
}

/// After the sweep: pauses or resumes the run as the user wants it, once no such request is open.
void SweepRun::settlePause() {
  if (!settles_ || pausesOpen_ > 0) return;
  settles_ = isLive() && (session_->state() == Session::State::kPaused) != wantsPause_;
  if (!settles_) return;
  ++pausesOpen_;
  if (wantsPause_) {
    session_->request(PauseTraining{});
  } else {
    session_->request(ResumeTraining{});
  }
}

void SweepRun::onPauseAnswer(const CommandAnswer& answer) {
  const bool isPause = std::holds_alternative<PauseTraining>(answer.command);
  if (pausesOpen_ == 0) {
    // The user's own.
    if (answer.accepted) wantsPause_ = isPause;
    return;
  }
  --pausesOpen_;
  if (answer.accepted) {
    // The session changes its state after this signal.
    QMetaObject::invokeMethod(this, &SweepRun::settlePause, Qt::QueuedConnection);
    return;
  }
  settles_ = false;
  if (!isRunning() || !isLive()) return;
  stop(std::string("the run could not be ") + (isPause ? "paused: " : "resumed: ") + answer.reason);
}

void SweepRun::onAnswer(const CommandAnswer& answer) {
  if (std::holds_alternative<PauseTraining>(answer.command) ||
      std::holds_alternative<ResumeTraining>(answer.command)) {
    return onPauseAnswer(answer);
  }
  if (!isRunning() || phase_ != Phase::kMeasuring) return;
  const auto* knobs = std::get_if<SetKnobs>(&answer.command);
  if (script_) {
    const auto* level = std::get_if<SetProbeLevel>(&answer.command);
    if (std::holds_alternative<SetScriptKnob>(answer.command) && !answer.accepted) {
      stop(tuning::settingText(next_->setting) + " was refused: " + answer.reason);
    } else if (isDelivered_ && firstStep_ == 0 && level && level->steps > 0) {
      // The step in progress when the script took the request may have begun before.
      firstStep_ = answer.fromStep + 1;
    }
    return;
  }
  if (!knobs || knobs->batchSize != next_->setting.batch) return;
  if (answer.accepted) {
    firstStep_ = answer.fromStep;
  } else {
    stop(tuning::settingText(next_->setting) + " was refused: " + answer.reason);
  }
}

/// Whether somebody else has changed batch or length since the setting was measured.
bool SweepRun::wasSetToSomethingElse() const {
  const auto& markers = store_->markers();
  for (std::size_t i = std::min(markersBefore_, markers.size()); i < markers.size(); ++i) {
    const Setting& wanted = next_->setting;
    const auto isOther = [&](events::MarkerKind kind, std::uint32_t value) {
      return markers[i].kind() == kind && markers[i].value_after() != value;
    };
    if (isOther(events::MarkerKind::BatchSize, wanted.batch) ||
        isOther(events::MarkerKind::SequenceLength, wanted.length)) {
      return true;
    }
  }
  return false;
}

/// Whether a step is at the setting that is being measured.
bool SweepRun::isAt(const events::StepRecord& step) const {
  const Setting& setting = next_->setting;
  return script_ ? script_->isAt(step, setting) : settingOf(step) == setting;
}

/// Whether a step of the current setting ran out of memory. An evaluation has a batch of its own,
/// and a step before the setting has another.
bool SweepRun::ranOutOfMemory() const {
  const auto& markers = store_->markers();
  for (std::size_t i = std::min(markersBefore_, markers.size()); i < markers.size(); ++i) {
    if (markers[i].step() >= firstStep_ && store_->isStepOutOfMemory(markers[i])) return true;
  }
  return false;
}

double SweepRun::mostSecondsWithoutStep() const {
  constexpr double kMuch = 2, kUsual = 60;
  const double most = options_.sweep.longestSettingS;
  return kMuch * (most > 0 ? most : kUsual);
}

/// Whether a script that is being measured trains no more: it may skip batches, or do something
/// else after its training.
bool SweepRun::standsStillAtStep() const {
  const auto& records = store_->steps().records;
  if (!script_ || phase_ != Phase::kMeasuring || records.empty()) return false;
  const std::int64_t endNs = records.back().begin_ns() + records.back().duration_ns();
  const std::int64_t since = std::max(endNs, measuringSinceNs_);
  return static_cast<double>(store_->completeUpToNs() - since) > mostSecondsWithoutStep() * 1e9;
}

void SweepRun::onReceived() {
  if (phase_ == Phase::kLearning) return learnScript();
  if (standsStillAtStep()) {
    return stop("the script has trained no step for " +
                formatDecimals(mostSecondsWithoutStep(), 0) + " s");
  }
  if (phase_ == Phase::kPlanning) return proceed();
  if (phase_ == Phase::kMeasuring && script_ && !isDelivered_) return awaitDelivery();
  if (phase_ != Phase::kMeasuring || firstStep_ == 0) return;
  if (ranOutOfMemory()) return conclude(true);
  if (script_ && hasMemory() && begunAgain_ < kMostBegunAgain && sawForeignStep()) {
    ++begunAgain_;
    return beginSteps();
  }
  const auto& steps = store_->steps();
  const std::size_t wanted = std::size_t{kWarmUpSteps} + options_.measuredSteps;
  std::uint32_t last = firstStep_ + static_cast<std::uint32_t>(wanted) - 1;
  if (isOverdue()) return conclude(false);
  if (script_) {
    const std::vector<std::size_t> rows = measuredRows();
    const std::size_t first = steps.firstRowFrom(firstStep_);
    const bool isEnough = rows.size() >= wanted;
    if (!isEnough && steps.records.size() < first + wanted * kMostStepsPerWanted) return;
    if (isEnough) last = steps.records[rows.back()].step();
  }
  if (steps.records.empty() || steps.records.back().step() < last) return;
  const std::size_t index = steps.firstRowFrom(last);
  const bool isLate = steps.records.back().step() >= last + kLateSpans;
  if (store_->hasQueue() && steps.deviceEndNs[index] < 0 && !isLate) return;
  conclude(false);
}

/// Whether the setting takes much longer than any may, and has steps after the warm-up: as where
/// the system has begun to swap. They are enough then.
bool SweepRun::isOverdue() const {
  constexpr double kMuch = 2;
  const double most = options_.sweep.longestSettingS;
  if (most <= 0) return false;
  const std::vector<std::size_t> rows = measuredRows();
  if (rows.size() <= kWarmUpSteps + 1) return false;
  const std::int64_t begin = store_->steps().records[rows.front()].begin_ns();
  return static_cast<double>(store_->completeUpToNs() - begin) > kMuch * most * 1e9;
}

/// The rows of the setting that is being measured. The first has the past of another setting, so
/// its exact peak does not count, as in observationsOf(). Rows of other settings are left out: they
/// are the user's, or the last of a script's epoch.
std::vector<std::size_t> SweepRun::measuredRows() const {
  const auto& records = store_->steps().records;
  const std::size_t first = store_->steps().firstRowFrom(firstStep_);
  const std::size_t wanted = std::size_t{kWarmUpSteps} + options_.measuredSteps;
  const std::size_t end =
      std::min(records.size(), first + wanted * (script_ ? kMostStepsPerWanted : 1));
  std::vector<std::size_t> rows;
  for (std::size_t row = first; row < end && rows.size() < wanted; ++row) {
    if (isAt(records[row])) rows.push_back(row);
  }
  return rows;
}

void SweepRun::conclude(bool outOfMemory) {
  const std::vector<std::size_t> rows = outOfMemory ? std::vector<std::size_t>() : measuredRows();
  if (!outOfMemory && rows.size() <= kWarmUpSteps) {
    return stop(tuning::settingText(next_->setting) +
                (wasSetToSomethingElse()
                     ? " could not be measured: the run was set to something else meanwhile"
                     : " could not be measured: the run has no steps at this setting"));
  }
  pause();
  tuning::SweptSetting measured = *next_;
  measured.outOfMemory = outOfMemory;
  if (outOfMemory) return plan(std::move(measured), std::nullopt);
  readMemory(rows, measured);
  measured.setThroughput(ratesOf(rows));
  if (measured.tokensPerS > 0) {
    measured.stepMs = tuning::stepMsOf(*store_, std::span(rows).subspan(kWarmUpSteps));
  }
  auto trace = traceOf(measured.setting);
  plan(std::move(measured), std::move(trace));
}

/// The throughput of the steps in `rows` after the warm-up. A script's steps are credited to the
/// host, which may queue one in no time and wait in the next: so to some of them together, with the
/// shorter batches that end its epochs.
std::vector<double> SweepRun::ratesOf(const std::vector<std::size_t>& rows) const {
  constexpr std::size_t kTogether = 2;
  const analysis::StepColumns& steps = store_->steps();
  std::vector<double> rates;
  for (std::size_t i = kWarmUpSteps; i < rows.size(); i += script_ ? kTogether : 1) {
    if (!script_) {
      rates.push_back(steps.tokensPerS.values()[rows[i]]);
      continue;
    }
    const std::size_t end = i + kTogether < rows.size() ? rows[i + kTogether] : rows.back() + 1;
    double tokens = 0, seconds = 0;
    for (std::size_t row = rows[i]; row < end; ++row) {
      tokens += steps.records[row].tokens();
      seconds += static_cast<double>(steps.records[row].duration_ns()) / 1e9;
    }
    rates.push_back(seconds > 0 ? tokens / seconds : 0);
  }
  return rates;
}

/// What steps at the setting of `memory` took, of which `rows` are those to measure.
void SweepRun::readMemory(const std::vector<std::size_t>& rows, tuning::Observation& memory) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const events::StepRecord& step = store_->steps().records[rows[i]];
    memory.peakDriver = std::max(memory.peakDriver, step.peak_driver_bytes());
    if (i == 0) continue;
    const std::uint32_t shorter = options_.sweep.epochSamples % memory.setting.batch;
    for (std::size_t row = rows[i - 1] + 1; row < rows[i]; ++row) {
      const std::uint32_t batch = store_->steps().records[row].batch_size();
      memory.sawShorterBatch = memory.sawShorterBatch || (batch > 0 && batch == shorter);
    }
    memory.exact = step.peak_current_exact() != 0 && (memory.steps == 0 || memory.exact);
    memory.peakCurrent = std::max(memory.peakCurrent, step.peak_current_bytes());
    ++memory.steps;
  }
  if (!hasMemory()) return;
  for (const analysis::StepEnd& stepEnd : analysis::currentAtStepEnds(*store_)) {
    if (stepEnd.step < firstStep_ || stepEnd.bytes <= 0) continue;
    const auto row = store_->rowOf(stepEnd.step);
    if (!row || !isAt(store_->steps().records[*row])) continue;
    const auto bytes = static_cast<std::uint64_t>(stepEnd.bytes);
    memory.leftAllocated =
        memory.leftAllocated == 0 ? bytes : std::min(memory.leftAllocated, bytes);
  }
}

/// The allocations of steps at a setting, if their ops were recorded.
std::optional<tuning::StepTrace> SweepRun::traceOf(Setting setting) const {
  if (!hasMemory()) return std::nullopt;
  for (tuning::StepTrace& trace : tuning::tracesOf(*store_)) {
    if (trace.setting == setting) return std::move(trace);
  }
  return std::nullopt;
}

void SweepRun::onEnded(const RunEnd& end) {
  hasEnded_ = true;
  if (!isRunning()) return;
  // A script ends in the first step that does not fit, which no record shows.
  const bool wasScripts =
      script_ && phase_ == Phase::kMeasuring &&
      end.message.find("out of memory") != std::string::npos &&
      (store_->run()->openBatchSize == 0 || store_->run()->openBatchSize == next_->setting.batch);
  if (phase_ == Phase::kMeasuring && (wasScripts || (firstStep_ != 0 && ranOutOfMemory()))) {
    stopReason_ = "the run ran out of memory at " + tuning::settingText(next_->setting);
    return conclude(true);
  }
  if (script_ && end.reason == RunEnd::Reason::kFinished) {
    return stop(
        "the program has finished its training; let it train for longer, or measure fewer "
        "settings");
  }
  const std::string where = phase_ == Phase::kMeasuring
                                ? " while " + tuning::settingText(next_->setting) + " was measured"
                                : "";
  stop("the run ended" + where + ": " + end.message);
}

void SweepRun::finish() {
  if (stopReason_.empty() && !isLive()) stopReason_ = "the run ended";
  if (result_.settings.empty() && result_.reason.empty()) {
    result_.reason = "nothing was measured";
  }
  if (script_ && result_.best && script_->batchValue(*result_.best) != result_.best->batch) {
    result_.reason += "; " + script_->batchKnob() + " is " +
                      std::to_string(script_->batchValue(*result_.best)) + " there";
  }
  if (script_ && !script_->setsLength()) noteLengths();
  if (!stopReason_.empty()) {
    result_.complete = false;
    result_.reason += "; " + stopReason_;
  }
  phase_ = Phase::kFinished;
  {
    // Nobody waits for a plan any more.
    const std::lock_guard lock(receiver_->mutex);
    receiver_->sweep = nullptr;
  }
  for (const tuning::SweptSetting& each : result_.leftOut) {
    addNote(store_->completeUpToNs(), store_->runningStep(), tuning::noteOf(0, each));
  }
  addNote(store_->completeUpToNs(), store_->runningStep(), tuning::endNoteOf(result_));
  if (isLive()) {
    restore(options_.appliesBest ? result_.best : std::nullopt);
    settles_ = true;
    settlePause();
  }
  emit changed();
  emit finished();
}

/// Says how far the memory of batches of different lengths is known.
void SweepRun::noteLengths() {
  std::uint32_t shortest = std::numeric_limits<std::uint32_t>::max(), longest = 0;
  for (const events::StepRecord& step : store_->steps().records) {
    if (step.sequence_length() == 0) continue;
    shortest = std::min(shortest, step.sequence_length());
    longest = std::max(longest, step.sequence_length());
  }
  if (longest == 0 || shortest == longest) return;
  result_.reason += "; its batches have different lengths, and the longest that was seen has " +
                    std::to_string(longest) + " tokens: a longer one takes more memory";
}

void SweepRun::addNote(std::int64_t timeNs, std::uint32_t step, const std::string& text) {
  const auto note = makeNote(timeNs, step, text);
  if (note && !session_->addNote(*note)) unsaved_.push_back(*note);
}

}  // namespace highwater::run
