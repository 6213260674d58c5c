#include "models/tuning_state.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "models/qt_text.h"
#include "tuning/observations.h"

namespace highwater::models {
namespace {

using tuning::Setting;

constexpr std::uint32_t kMostBatch = 256, kMostLength = 256;  ///< where the run names no limits
/// A setting counts once it has so many steps: the first after a change is unlike the others.
constexpr std::size_t kFewSteps = 3;

Setting settingOf(const events::StepRecord& step) {
  return {step.batch_size(), std::max(step.sequence_length(), 1U)};
}

/// The value that `share` of the sorted values are below.
double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<TriedSetting> triedIn(const analysis::LiveStore& store) {
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Key, TriedSetting> tried;
  std::map<Key, std::vector<double>> rates;
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
    if (std::isfinite(steps.tokensPerS[row])) {
      rates[{setting.batch, setting.length}].push_back(steps.tokensPerS[row]);
    }
  }
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::OutOfMemory) continue;
    // The setting of the step that failed: that of the markers before it, or of the run's begin.
    Knobs knobs = store.run() ? store.run()->knobs : Knobs{};
    for (const events::Marker& change : store.markers()) {
      if (change.time_ns() >= marker.time_ns()) continue;
      const auto value = static_cast<std::uint32_t>(std::max(change.value_after(), 0.0));
      if (change.kind() == events::MarkerKind::BatchSize) knobs.batchSize = value;
      if (change.kind() == events::MarkerKind::SequenceLength) knobs.sequenceLength = value;
    }
    if (knobs.batchSize == 0) continue;
    at({knobs.batchSize, std::max(knobs.sequenceLength, 1U)}).outOfMemory = true;
  }
  std::vector<TriedSetting> all;
  for (auto& [key, each] : tried) {
    std::vector<double>& values = rates[key];
    std::sort(values.begin(), values.end());
    each.tokensPerS = quantile(values, 0.5);
    each.lowerQuartile = quantile(values, 0.25);
    each.upperQuartile = quantile(values, 0.75);
    all.push_back(each);
  }
  return all;
}

}  // namespace

TuningState::TuningState(const analysis::LiveStore* store, QObject* parent)
    : QObject(parent), store_(store) {
  fit();
}

void TuningState::refresh() {
  const auto& records = store_->steps().records;
  const std::optional<std::int64_t> epoch =
      store_->hello() ? std::optional(store_->hello()->clock.unixEpochNs) : std::nullopt;
  const bool other = epoch != fittedEpoch_ || records.size() < fittedSteps_;
  if (other) {
    fittedEpoch_ = epoch;
    fittedSteps_ = fittedOps_ = fittedMarkers_ = 0;
  }
  std::size_t atNew = 0;
  for (std::size_t row = fittedSteps_; row < records.size(); ++row) {
    const Setting setting = settingOf(records[row]);
    const bool known = std::any_of(tried_.begin(), tried_.end(), [&](const TriedSetting& each) {
      return each.setting == setting && each.steps > 0;
    });
    atNew += known ? 0 : 1;
  }
  const bool grew = records.size() >= fittedSteps_ + std::max(fittedSteps_ / 4, kFewSteps * 2);
  const bool ended = store_->end().has_value() && records.size() > fittedSteps_;
  const bool marked = store_->markers().size() != fittedMarkers_;
  const bool hasOps = store_->ops().endRow() > fittedOps_ + fittedOps_ / 2;
  if (other || atNew >= kFewSteps || grew || ended || marked || hasOps) fit();
}

void TuningState::fit() {
  fittedSteps_ = store_->steps().records.size();
  fittedOps_ = store_->ops().endRow();
  fittedMarkers_ = store_->markers().size();
  tried_ = triedIn(*store_);
  sweep_ = tuning::sweepOf(*store_);
  ++fit_;
  auto input = tuning::modelInputOf(*store_);
  if (input) {
    std::vector<tuning::StepTrace> traces = std::move(input->traces);
    input->traces.clear();
    // A model that knows the requests stays until the next one is there.
    const bool keeps = model_ && model_->confidence().fromRequests && traces.size() > 1;
    if (!keeps) take(tuning::fitModel(*input));
    if (traces.size() > 1) {
      input->traces = std::move(traces);
      fitBehind(std::move(*input));
    }
  } else {
    take(input.error());
  }
  limits_ = {kMostBatch, kMostLength};
  if (const auto& run = store_->run()) {
    if (run->maxBatchSize > 0) limits_.batch = run->maxBatchSize;
    if (run->maxSequenceLength > 0) limits_.length = run->maxSequenceLength;
  }
  const auto& records = store_->steps().records;
  current_ = records.empty() ? Setting{} : settingOf(records.back());
  emit changed();
}

void TuningState::take(Result<tuning::MemoryModel> model) {
  model_.reset();
  reason_.clear();
  if (model) {
    model_ = std::move(*model);
  } else {
    reason_ = text(model.error().message);
  }
}

void TuningState::fitBehind(tuning::ModelInput input) {
  behind_ = fit_;
  auto job = [self = QPointer<TuningState>(this), fit = fit_, input = std::move(input)] {
    auto model = std::make_shared<Result<tuning::MemoryModel>>(tuning::fitModel(input));
    // By the application's thread, where `self` lives and dies.
    QMetaObject::invokeMethod(QCoreApplication::instance(), [self, fit, model] {
      if (!self || self->fit_ != fit) return;
      self->behind_ = 0;
      self->take(std::move(*model));
      emit self->changed();
    });
  };
  QThreadPool::globalInstance()->start(std::move(job));
}

void TuningState::setChosen(Setting setting) {
  setting.length = std::max(setting.length, 1U);
  if (setting == chosen_) return;
  chosen_ = setting;
  emit chosenChanged();
}

void TuningState::setSweeping(bool sweeps, std::optional<Setting> measuring) {
  if (sweeps == sweeps_ && measuring == measuring_) return;
  sweeps_ = sweeps;
  measuring_ = measuring;
  emit sweepingChanged();
}

void TuningState::setReserve(double reserve) {
  reserve = std::clamp(reserve, 0.0, 0.9);
  if (reserve == reserve_) return;
  reserve_ = reserve;
  emit reserveChanged();
}

std::optional<std::uint32_t> TuningState::largestSafeBatch(std::uint32_t length) const {
  if (!model_) return std::nullopt;
  return model_->largestSafeBatch(length, limits_.batch, reserve_);
}

std::optional<std::uint32_t> TuningState::longestSafeLength(std::uint32_t batch) const {
  if (!model_) return std::nullopt;
  return model_->longestSafeLength(batch, limits_.length, reserve_);
}

}  // namespace highwater::models
