#include "session/sweep_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/memory_growth.h"
#include "analysis/statistics.h"
#include "core/run_limits.h"
#include "session/note.h"
#include "tuning/observations.h"
#include "tuning/request_trace.h"

namespace highwater::session {

using tuning::Setting;

namespace {

/// Steps of each setting that are not measured: caches and graphs settle, and their ops are
/// recorded where that teaches how requests grow. The first one has the past of another setting,
/// and of the others two at least are needed (tuning::tracesOf()).
constexpr std::uint32_t kWarmUpSteps = 4;
/// Steps after the last measured one until its device span is given up: a span is read once the
/// device is idle.
constexpr std::uint32_t kLateSpans = 3;

}  // namespace

SweepRun::SweepRun(Session* session, const analysis::LiveStore* store, SweepRunOptions options,
                   QObject* parent)
    : QObject(parent), session_(session), store_(store), options_(std::move(options)) {
  pool_.setMaxThreadCount(1);
  connect(session_, &Session::commandAnswered, this, &SweepRun::onAnswer);
  connect(session_, &Session::received, this, &SweepRun::onReceived);
  connect(session_, &Session::stateChanged, this, &SweepRun::proceed);
  connect(session_, &Session::ended, this, &SweepRun::onEnded);
}

SweepRun::~SweepRun() = default;

bool SweepRun::isLive() const {
  return session_->state() == Session::State::kRunning ||
         session_->state() == Session::State::kPaused;
}

Result<void> SweepRun::start() {
  const auto& run = store_->run();
  if (!isLive() || !run) return failure("a sweep needs a run that trains");
  if (run->ownScript) {
    return failure(
        "the sweep sets batch size and sequence length, and the script offers Highwater no knobs "
        "for both: turn its own knobs, and the memory model learns from each setting");
  }
  wasPaused_ = session_->state() == Session::State::kPaused;
  const Knobs knobs = store_->knobs();
  original_ = {knobs.batchSize, std::max(1U, knobs.sequenceLength)};
  originalKnobs_ = knobs;
  readRun(*run);
  const tuning::SweepOptions& sweep = options_.sweep;
  if (run->maxBatchSize > 0 && sweep.largestBatch > run->maxBatchSize) {
    return usageError("the largest batch of the sweep is " + std::to_string(sweep.largestBatch) +
                      ", but this run takes at most " + std::to_string(run->maxBatchSize));
  }
  for (const std::uint32_t length : sweep.lengths) {
    if (run->maxSequenceLength > 0 && length > run->maxSequenceLength) {
      return usageError("the sweep has the length " + std::to_string(length) +
                        ", but this model takes at most " + std::to_string(run->maxSequenceLength) +
                        " tokens");
    }
  }
  std::vector<tuning::Observation> known;
  if (sweep.hasMemory) known = tuning::observationsOf(*store_);
  const MemoryLimits limits = store_->hello() ? store_->hello()->limits : MemoryLimits{};
  auto planner = tuning::SweepPlanner::make(sweep, limits, std::move(known));
  if (!planner) return planner.error();
  planner_ = std::make_shared<tuning::SweepPlanner>(std::move(*planner));
  limitBytes_ = sweep.hasMemory ? planner_->limitBytes() : 0;
  pause();
  plan(std::nullopt);
  return {};
}

/// What the options leave to the run.
void SweepRun::readRun(const RunDescription& run) {
  tuning::SweepOptions& sweep = options_.sweep;
  sweep.hasMemory = store_->hasMemoryCounters();
  const bool isLimited =
      sweep.hasMemory && store_->hello() && store_->hello()->limits.recommendedBytes > 0;
  if (sweep.largestBatch == 0) {
    const std::uint32_t most = run.maxBatchSize > 0 ? run.maxBatchSize : kMostBatchSize;
    sweep.largestBatch =
        isLimited ? most : std::min(most, std::max(kMostBatchWithoutLimit, sweep.smallestBatch));
  }
  if (sweep.lengths.empty()) sweep.lengths = {original_.length};
  if (!sweep.start) {
    // What trains already fits, unless it is out of the bounds.
    const bool isOfLengths = std::find(sweep.lengths.begin(), sweep.lengths.end(),
                                       original_.length) != sweep.lengths.end();
    const bool isWithin = original_.batch >= sweep.smallestBatch &&
                          original_.batch <= sweep.largestBatch &&
                          original_.batch % std::max(1U, sweep.batchMultiple) == 0;
    if (isOfLengths && isWithin) sweep.start = original_;
  }
  sweep.knownFixed = tuning::tensorBudget({}, tuning::modelSizesOf(run)).fixed();
  if (sweep.knownFixed == tuning::kTooManyBytes) sweep.knownFixed = 0;
}

void SweepRun::interrupt() {
  if (isRunning()) stop("stopped by the user");
}

void SweepRun::stop(std::string reason) {
  if (stopReason_.empty()) stopReason_ = std::move(reason);
  // A plan in progress ends first: only then is the result known.
  if (phase_ == Phase::kMeasuring) finish();
}

std::optional<tuning::SweepStep> SweepRun::current() const {
  return phase_ == Phase::kMeasuring ? next_ : std::nullopt;
}

void SweepRun::pause() {
  if (pauseRequested_ || session_->state() != Session::State::kRunning) return;
  pauseRequested_ = true;
  session_->request(PauseTraining{});
}

void SweepRun::plan(std::optional<tuning::SweepMeasurement> measurement) {
  phase_ = Phase::kPlanning;
  isPlanned_ = false;
  pool_.start([this, planner = planner_, measurement = std::move(measurement)]() mutable {
    if (measurement) planner->record(std::move(*measurement));
    auto next = planner->next();
    auto result = planner->result();
    QMetaObject::invokeMethod(
        this,
        [this, next = std::move(next), result = std::move(result)]() mutable {
          onPlanned(std::move(next), std::move(result));
        },
        Qt::QueuedConnection);
  });
}

void SweepRun::onPlanned(std::optional<tuning::SweepStep> next, tuning::SweepResult result) {
  result_ = std::move(result);
  next_ = std::move(next);
  isPlanned_ = true;
  if (!result_.points.empty() && settings_.size() == result_.points.size()) {
    // What counts as safe is known to the planner.
    settings_.back().safe = result_.points.back().safe;
    addNote(store_->completeUpToNs(), store_->runningStep(),
            tuning::noteOf(settings_.size(), settings_.back()));
  }
  emit changed();
  proceed();
}

/// Carries out the plan once the training stands still: the cache is emptied between the last step
/// of one setting and the first of the next.
void SweepRun::proceed() {
  if (phase_ != Phase::kPlanning || !isPlanned_) return;
  if (!isLive()) return finish();
  if (session_->state() != Session::State::kPaused) return pause();
  if (!next_ || !stopReason_.empty()) return finish();
  begin();
}

void SweepRun::begin() {
  phase_ = Phase::kMeasuring;
  firstStep_ = 0;
  markersBefore_ = store_->markers().size();
  const auto& records = store_->steps().records;
  const Setting setting = next_->setting;
  const bool isFirstOfRun =
      settings_.empty() && std::all_of(records.begin(), records.end(), [&](const auto& step) {
        return step.batch_size() == setting.batch &&
               std::max(1U, step.sequence_length()) == setting.length;
      });
  // Nothing larger has left blocks in the cache, and the trace of a run's first steps stays whole.
  apply(setting, !isFirstOfRun);
  session_->request(ResumeTraining{});
  emit changed();
}

void SweepRun::apply(Setting setting, bool emptiesCache) {
  SetKnobs knobs;
  knobs.batchSize = setting.batch;
  if (setting.length > 1 || store_->knobs().sequenceLength > 1) {
    knobs.sequenceLength = setting.length;
  }
  // A batch is measured alone, and one that does not fit must not end the run.
  const bool isMeasuring = phase_ == Phase::kMeasuring;
  if (originalKnobs_.keepEffectiveBatch) knobs.keepEffectiveBatch = !isMeasuring;
  if (originalKnobs_.outOfMemory == OutOfMemoryPolicy::kStop ||
      originalKnobs_.outOfMemory == OutOfMemoryPolicy::kRetry) {
    knobs.outOfMemory = isMeasuring ? OutOfMemoryPolicy::kHalve : originalKnobs_.outOfMemory;
  }
  session_->request(knobs);
  session_->request(SetProbeLevel{options_.level, 0});
  if (!hasMemory()) return;
  if (isMeasuring) session_->request(SetProbeLevel{events::ProbeLevel::Ops, kWarmUpSteps});
  if (emptiesCache) session_->request(EmptyCache{});
}

void SweepRun::onAnswer(const CommandAnswer& answer) {
  if (!isRunning()) return;
  if (std::holds_alternative<PauseTraining>(answer.command)) {
    pauseRequested_ = false;
    if (!answer.accepted && isLive()) stop("the run could not be paused: " + answer.reason);
    return;
  }
  const auto* knobs = std::get_if<SetKnobs>(&answer.command);
  if (phase_ != Phase::kMeasuring || !knobs || knobs->batchSize != next_->setting.batch) return;
  if (answer.accepted) {
    firstStep_ = answer.fromStep;
  } else {
    stop(tuning::settingText(next_->setting) + " was refused: " + answer.reason);
  }
}

bool SweepRun::ranOutOfMemory() const {
  const auto& markers = store_->markers();
  for (std::size_t i = std::min(markersBefore_, markers.size()); i < markers.size(); ++i) {
    if (markers[i].kind() == events::MarkerKind::OutOfMemory) return true;
  }
  return false;
}

void SweepRun::onReceived() {
  if (phase_ != Phase::kMeasuring || firstStep_ == 0) return;
  if (ranOutOfMemory()) return conclude(true);
  const auto& steps = store_->steps();
  const std::size_t wanted = std::size_t{kWarmUpSteps} + options_.measuredSteps;
  const std::uint32_t last = firstStep_ + static_cast<std::uint32_t>(wanted) - 1;
  if (steps.records.empty() || steps.records.back().step() < last) return;
  const auto row = std::lower_bound(
      steps.records.begin(), steps.records.end(), last,
      [](const events::StepRecord& step, std::uint32_t number) { return step.step() < number; });
  const auto index = static_cast<std::size_t>(row - steps.records.begin());
  const bool isLate = steps.records.back().step() >= last + kLateSpans;
  if (store_->hasQueue() && steps.deviceEndNs[index] < 0 && !isLate) return;
  conclude(false);
}

void SweepRun::conclude(bool outOfMemory) {
  pause();
  const auto& records = store_->steps().records;
  const auto row = std::lower_bound(
      records.begin(), records.end(), firstStep_,
      [](const events::StepRecord& step, std::uint32_t number) { return step.step() < number; });
  const auto first = static_cast<std::size_t>(row - records.begin());
  tuning::SweepMeasurement measured = measurementOf(first, outOfMemory);

  tuning::SweptSetting swept;
  swept.setting = next_->setting;
  swept.predicted = next_->driver;
  swept.reason = next_->reason;
  swept.outOfMemory = outOfMemory;
  swept.peakDriver = measured.memory.peakDriver;
  swept.peakCurrent = measured.memory.peakCurrent;
  std::vector<double> rates = measured.tokensPerS;
  if (!rates.empty()) {
    swept.tokensPerS = analysis::medianOf(rates);
    swept.lowerQuartile = analysis::percentileOf(rates, 25);
    swept.upperQuartile = analysis::percentileOf(rates, 75);
    std::vector<double> durations;
    for (std::size_t i = first + kWarmUpSteps;
         i < records.size() && durations.size() < options_.measuredSteps; ++i) {
      durations.push_back(store_->steps().durationMs.values()[i]);
    }
    swept.stepMs = analysis::medianOf(std::move(durations));
  }
  settings_.push_back(std::move(swept));
  plan(std::move(measured));
}

/// What the rows from `first` on took. The first has the past of another setting, so its exact
/// peak does not count, as in observationsOf().
tuning::SweepMeasurement SweepRun::measurementOf(std::size_t first, bool outOfMemory) const {
  const auto& steps = store_->steps();
  tuning::SweepMeasurement measured;
  measured.memory.setting = next_->setting;
  measured.outOfMemory = outOfMemory;
  if (outOfMemory) return measured;
  tuning::Observation& memory = measured.memory;
  const std::size_t end =
      std::min(steps.records.size(), first + kWarmUpSteps + options_.measuredSteps);
  for (std::size_t row = first; row < end; ++row) {
    const events::StepRecord& step = steps.records[row];
    memory.peakDriver = std::max(memory.peakDriver, step.peak_driver_bytes());
    if (row > first) {
      memory.exact = step.peak_current_exact() != 0 && (memory.steps == 0 || memory.exact);
      memory.peakCurrent = std::max(memory.peakCurrent, step.peak_current_bytes());
      ++memory.steps;
    }
    const double rate = steps.tokensPerS.values()[row];
    if (row >= first + kWarmUpSteps && rate > 0) measured.tokensPerS.push_back(rate);
  }
  if (!hasMemory()) return measured;
  for (const analysis::StepEnd& stepEnd : analysis::currentAtStepEnds(*store_)) {
    if (stepEnd.step < firstStep_ || stepEnd.bytes <= 0) continue;
    const auto bytes = static_cast<std::uint64_t>(stepEnd.bytes);
    memory.leftAllocated =
        memory.leftAllocated == 0 ? bytes : std::min(memory.leftAllocated, bytes);
  }
  for (tuning::StepTrace& trace : tuning::tracesOf(*store_)) {
    if (trace.setting == memory.setting) measured.trace = std::move(trace);
  }
  return measured;
}

void SweepRun::onEnded(const RunEnd& end) {
  if (!isRunning()) return;
  if (phase_ == Phase::kMeasuring && (firstStep_ != 0 && ranOutOfMemory())) {
    stopReason_ = "the run ran out of memory at " + tuning::settingText(next_->setting);
    return conclude(true);
  }
  const std::string where = phase_ == Phase::kMeasuring
                                ? " while " + tuning::settingText(next_->setting) + " was measured"
                                : "";
  stop("the run ended" + where + ": " + end.message);
}

void SweepRun::finish() {
  if (stopReason_.empty() && !isLive()) stopReason_ = "the run ended";
  if (result_.points.empty()) result_.reason = "nothing was measured";
  if (!stopReason_.empty()) {
    result_.complete = false;
    result_.reason += "; " + stopReason_;
  }
  phase_ = Phase::kFinished;
  addNote(store_->completeUpToNs(), store_->runningStep(), tuning::noteOf(result_));
  if (isLive()) {
    const bool usesBest = options_.appliesBest && result_.best;
    apply(usesBest ? result_.best->memory.setting : original_, true);
    const bool isPaused = session_->state() == Session::State::kPaused;
    if (isPaused && !wasPaused_) session_->request(ResumeTraining{});
    if (!isPaused && wasPaused_) session_->request(PauseTraining{});
  }
  emit changed();
  emit finished();
}

void SweepRun::addNote(std::int64_t timeNs, std::uint32_t step, const std::string& text) {
  const auto note = makeNote(timeNs, step, text);
  if (note && !session_->addNote(*note)) unsaved_.push_back(*note);
}

}  // namespace highwater::session
