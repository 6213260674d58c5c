#include "models/tuning_state.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "analysis/run_summary.h"
#include "analysis/statistics.h"
#include "core/run_limits.h"
#include "models/qt_text.h"
#include "tuning/observations.h"
#include "tuning/tensor_budget.h"

namespace highwater::models {
namespace {

using tuning::Setting;
using tuning::settingOf;

/// Where the run names no limits. That of the batch is the report's.
constexpr std::uint32_t kMostBatch = kMostBatchSize, kMostLength = 256;
/// A setting counts once it has so many steps: the first after a change is unlike the others.
constexpr std::size_t kFewSteps = 3;
/// From so many steps on a setting is compared with those that a sweep has measured.
constexpr std::size_t kComparedSteps = 10;

std::pair<std::uint32_t, std::uint32_t> keyOf(Setting setting) {
  return {setting.batch, setting.length};
}

std::uint32_t powerOfTwoFrom(std::uint32_t least) {
  return std::bit_ceil(std::min(least, 1U << 31));
}

/// The times in which ops are recorded, which makes steps slower.
std::vector<analysis::TimeRange> timesOfOps(const analysis::LiveStore& store) {
  std::vector<analysis::TimeRange> times;
  bool isOn = false;
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::ProbeLevel) continue;
    const bool begins = marker.value_after() == static_cast<double>(events::ProbeLevel::Ops);
    if (begins && !isOn) times.push_back({marker.time_ns(), store.completeUpToNs()});
    if (!begins && isOn) times.back().endNs = marker.time_ns();
    isOn = begins;
  }
  return times;
}

std::vector<TriedSetting> triedIn(const analysis::LiveStore& store) {
  struct Rates {
    std::vector<double> plain, withOps;
  };
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Key, TriedSetting> tried;
  std::map<Key, Rates> rates;
  const std::vector<analysis::TimeRange> ops = timesOfOps(store);
  const auto& steps = store.steps();
  const auto at = [&tried](Setting setting) -> TriedSetting& {
    TriedSetting& each = tried[{setting.batch, setting.length}];
    each.setting = setting;
    return each;
  };
  for (const tuning::Observation& seen : tuning::observationsOf(store)) {
    TriedSetting& each = at(seen.setting);
    each.peakCurrent = seen.peakCurrent;
    each.peakDriver = seen.peakDriver;
    each.steps = seen.steps;
  }
  for (std::size_t row = 1; row < steps.records.size(); ++row) {
    const Setting setting = settingOf(steps.records[row]);
    // The first step after a change shares the device with the last one before it.
    if (setting.batch == 0 || setting != settingOf(steps.records[row - 1])) continue;
    if (!std::isfinite(steps.tokensPerS[row])) continue;
    if (store.isTried(steps.records[row].step())) continue;
    const std::int64_t ns = steps.records[row].begin_ns();
    const bool withOps = std::any_of(ops.begin(), ops.end(), [ns](const analysis::TimeRange& each) {
      return ns >= each.beginNs && ns < each.endNs;
    });
    Rates& of = rates[keyOf(setting)];
    (withOps ? of.withOps : of.plain).push_back(steps.tokensPerS[row]);
  }
  for (const events::Marker& marker : store.markers()) {
    if (!store.isStepOutOfMemory(marker)) continue;
    // The setting of the step that failed: that of the markers before it, or of the run's begin.
    Knobs knobs = store.run() ? store.run()->knobs : Knobs{};
    for (const events::Marker& change : store.markers()) {
      if (change.time_ns() >= marker.time_ns()) continue;
      const auto value = static_cast<std::uint32_t>(
          std::clamp(change.value_after(), 0.0, double{std::numeric_limits<std::uint32_t>::max()}));
      if (change.kind() == events::MarkerKind::BatchSize) knobs.batchSize = value;
      if (change.kind() == events::MarkerKind::SequenceLength) knobs.sequenceLength = value;
    }
    if (knobs.batchSize == 0) continue;
    at({knobs.batchSize, std::max(knobs.sequenceLength, 1U)}).outOfMemory = true;
  }
  std::vector<TriedSetting> all;
  for (auto& [key, each] : tried) {
    Rates& of = rates[key];
    std::vector<double>& values = of.plain.empty() ? of.withOps : of.plain;
    const auto percentile = [&values](std::size_t percent) {
      return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                            : analysis::percentileOf(values, percent);
    };
    each.tokensPerS = percentile(50);
    each.lowerQuartile = percentile(25);
    each.upperQuartile = percentile(75);
    all.push_back(each);
  }
  return all;
}

}  // namespace

TuningState::TuningState(const analysis::LiveStore* store, QObject* parent)
    : QObject(parent), store_(store) {
  fit();
}

void TuningState::startOver() {
  ++run_;
  choseForScript_ = false;
  fittedSteps_ = fittedOps_ = seenMarkers_ = 0;
  fittedSettings_.clear();
  next_.reset();
  fitted_.reset();
  model_.reset();
}

void TuningState::refresh() {
  const auto& records = store_->steps().records;
  const std::optional<std::int64_t> epoch =
      store_->hello() ? std::optional(store_->hello()->clock.unixEpochNs) : std::nullopt;
  const bool other = epoch != fittedEpoch_ || records.size() < fittedSteps_;
  if (other) {
    fittedEpoch_ = epoch;
    startOver();
  }
  std::size_t atNew = 0;
  for (std::size_t row = fittedSteps_; row < records.size(); ++row) {
    atNew += fittedSettings_.contains(keyOf(settingOf(records[row]))) ? 0 : 1;
  }
  // Where each batch has another length, new settings are nothing new.
  const std::size_t newSteps = std::max(kFewSteps, fittedSettings_.size() / 4);
  const bool grew = records.size() >= fittedSteps_ + std::max(fittedSteps_ / 4, kFewSteps * 2);
  const bool ended = store_->end().has_value() && (!hasEnded_ || records.size() > fittedSteps_);
  const bool hasOps = store_->ops().endRow() > fittedOps_ + fittedOps_ / 2;
  if (other || atNew >= newSteps || grew || ended || hasOps) {
    fit();
  } else if (hasNewMarks()) {
    readMarks();
    useHeld();
    emit changed();
  }
}

bool TuningState::hasNewMarks() const {
  const auto& markers = store_->markers();
  return std::any_of(markers.begin() + static_cast<std::ptrdiff_t>(seenMarkers_), markers.end(),
                     [](const events::Marker& marker) {
                       return marker.kind() == events::MarkerKind::Note ||
                              marker.kind() == events::MarkerKind::CacheEmptied ||
                              marker.kind() == events::MarkerKind::OutOfMemory;
                     });
}

void TuningState::readMarks() {
  seenMarkers_ = store_->markers().size();
  tried_ = triedIn(*store_);
  sweep_ = tuning::sweepOf(*store_);
  if (!sweep_) return;
  for (TriedSetting& each : tried_) each.fewSteps = each.steps < kComparedSteps;
  // What the table of the sweep and its recommendation say, the chart says as well: other steps at
  // the setting do not move its point.
  for (const tuning::SweptSetting& swept : sweep_->settings) {
    const auto same = std::find_if(tried_.begin(), tried_.end(), [&](const TriedSetting& each) {
      return each.setting == swept.setting;
    });
    if (same == tried_.end() || swept.tokensPerS <= 0) continue;
    same->fewSteps = false;
    same->tokensPerS = swept.tokensPerS;
    same->lowerQuartile = swept.lowerQuartile;
    same->upperQuartile = swept.upperQuartile;
    if (swept.peakDriver > 0) same->peakDriver = swept.peakDriver;
    if (swept.peakCurrent > 0) same->peakCurrent = swept.peakCurrent;
  }
}

void TuningState::fit() {
  const auto& records = store_->steps().records;
  fittedSteps_ = records.size();
  hasEnded_ = store_->end().has_value();
  fittedOps_ = store_->ops().endRow();
  fittedSettings_.clear();
  for (const events::StepRecord& step : records) fittedSettings_.insert(keyOf(settingOf(step)));
  readMarks();
  auto input = tuning::modelInputOf(*store_);
  if (input) {
    std::vector<tuning::StepTrace> traces = std::move(input->traces);
    input->traces.clear();
    // A model that knows the requests stays until the next one is there.
    const bool keeps = model_ && model_->confidence().fromRequests && traces.size() > 1;
    if (keeps) {
      useHeld();
    } else {
      take(tuning::fitModel(*input));
    }
    if (traces.size() > 1) {
      input->traces = std::move(traces);
      fitBehind(std::move(*input));
    }
  } else {
    take(input.error());
  }
  // Where the run names no limits, what it was trained at is on the map.
  limits_ = {kMostBatch, kMostLength};
  for (const TriedSetting& each : tried_) {
    limits_.batch = std::max(limits_.batch, powerOfTwoFrom(each.setting.batch));
    limits_.length = std::max(limits_.length, powerOfTwoFrom(each.setting.length));
  }
  if (const auto& run = store_->run()) {
    if (run->maxBatchSize > 0) limits_.batch = run->maxBatchSize;
    if (run->maxSequenceLength > 0) limits_.length = run->maxSequenceLength;
  }
  current_ = records.empty() ? Setting{} : settingOf(records.back());
  emit changed();
}

void TuningState::take(Result<tuning::MemoryModel> model) {
  fitted_.reset();
  model_.reset();
  reason_.clear();
  if (model) {
    fitted_ = std::move(*model);
    useHeld();
  } else if (store_->hasMemoryCounters() && store_->steps().records.empty()) {
    reason_ = tr("No step was measured yet");
  } else {
    reason_ = text(model.error().message);
  }
}

void TuningState::useHeld() {
  if (!fitted_) return;
  // A sweep empties the cache before each setting.
  const bool goesOn = live_ && !hasEnded_ && !sweeps_;
  model_ = goesOn ? fitted_->goingOn(tuning::heldMemoryOf(*store_)) : *fitted_;
}

void TuningState::setLive(bool live) {
  if (live == std::exchange(live_, live) || !fitted_) return;
  useHeld();
  emit changed();
}

void TuningState::fitBehind(tuning::ModelInput input) {
  if (std::exchange(behind_, true)) {
    next_ = std::move(input);  // one fit at a time: it takes a core from the training
    return;
  }
  auto job = [self = QPointer<TuningState>(this), run = run_, input = std::move(input)] {
    auto model = std::make_shared<Result<tuning::MemoryModel>>(tuning::fitModel(input));
    // By the application's thread, where `self` lives and dies.
    QMetaObject::invokeMethod(QCoreApplication::instance(), [self, run, model] {
      if (!self) return;
      self->behind_ = false;
      if (auto next = std::exchange(self->next_, std::nullopt)) self->fitBehind(std::move(*next));
      if (self->run_ != run) return;
      self->take(std::move(*model));
      emit self->changed();
    });
  };
  QThreadPool::globalInstance()->start(std::move(job));
}

Setting TuningState::chosen() const {
  const bool hasLengths =
      tried_.empty() || std::any_of(tried_.begin(), tried_.end(), [](const TriedSetting& each) {
        return each.setting.length > 1;
      });
  const Setting setting = isOfScript() && !choseForScript_ ? current_ : chosen_;
  return {setting.batch, hasLengths ? setting.length : std::min(setting.length, 1U)};
}

bool TuningState::isOfScript() const {
  return store_->ownScript();
}

void TuningState::setChosen(Setting setting) {
  choseForScript_ = isOfScript();
  setting.length = std::max(setting.length, 1U);
  if (setting == chosen_) return;
  chosen_ = setting;
  emit chosenChanged();
}

void TuningState::setSweeping(bool sweeps, std::optional<Setting> measuring) {
  if (sweeps == sweeps_ && measuring == measuring_) return;
  const bool begins = sweeps != sweeps_;
  sweeps_ = sweeps;
  measuring_ = measuring;
  if (begins && fitted_) {
    useHeld();
    emit changed();
  }
  emit sweepingChanged();
}

void TuningState::setReserve(double reserve) {
  reserve = std::clamp(reserve, 0.0, 0.9);
  if (reserve == reserve_) return;
  reserve_ = reserve;
  emit reserveChanged();
}

QString TuningState::rateUnit() const {
  return text(store_->rateUnit());
}

void TuningState::setMemoryGrows(bool grows) {
  if (grows == memoryGrows_) return;
  memoryGrows_ = grows;
  emit memoryGrowsChanged();
}

std::optional<std::uint32_t> TuningState::largestSafeBatch(std::uint32_t length) const {
  if (!model_) return std::nullopt;
  return model_->largestSafeBatch(length, limits_.batch, reserve_);
}

std::optional<std::uint32_t> TuningState::largestSafeBatchEmptied(std::uint32_t length) const {
  if (!model_ || !model_->held()) return std::nullopt;
  return model_->goingOn({}).largestSafeBatch(length, limits_.batch, reserve_);
}

std::optional<std::uint32_t> TuningState::longestSafeLength(std::uint32_t batch) const {
  if (!model_) return std::nullopt;
  return model_->longestSafeLength(batch, limits_.length, reserve_);
}

}  // namespace highwater::models
