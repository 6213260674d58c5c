#include "report/report_tuning.h"

#include <QJsonArray>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/run_limits.h"
#include "core/units.h"
#include "report/report_values.h"
#include "tuning/observations.h"

namespace highwater::report {
namespace {

using analysis::LiveStore;
using tuning::MemoryModel;
using tuning::Observation;
using tuning::Prediction;
using tuning::Setting;

/// A script names no limit of its length.
constexpr std::uint32_t kLongestLength = 1U << 20;

/// The memory model of a fresh process and of the one that trained, had it gone on, with the
/// setting from which predictions start.
struct Tuning {
  MemoryModel model, goingOn;
  Setting setting;  ///< of the newest steps
  std::uint32_t mostBatch = kMostBatchSize;
  bool runHasMost = false;  ///< mostBatch is a limit of the run's
  std::uint32_t mostLength = kLongestLength;

  [[nodiscard]] std::optional<std::uint32_t> largestBatch() const {
    return model.largestSafeBatch(setting.length, mostBatch);
  }
  [[nodiscard]] std::optional<std::uint32_t> largestBatchGoingOn() const {
    return goingOn.largestSafeBatch(setting.length, mostBatch);
  }
  [[nodiscard]] std::optional<std::uint32_t> longestLength() const {
    return setting.length > 1 ? model.longestSafeLength(setting.batch, mostLength) : std::nullopt;
  }
};

/// A model that predicts one setting from the others no better than this, as a share of the
/// setting's own, predicts none.
constexpr double kMostError = 1;

/// The setting of the newest step; where steps of that batch have many lengths, the longest: the
/// next one may have it again.
Setting settingOf(const events::StepRecord& newest, const MemoryModel& model) {
  Setting setting{newest.batch_size(), std::max(1U, newest.sequence_length())};
  std::size_t lengths = 0;
  std::uint32_t longest = setting.length;
  for (const Observation& each : model.observations()) {
    if (each.setting.batch != setting.batch) continue;
    ++lengths;
    longest = std::max(longest, each.setting.length);
  }
  if (tuning::changesLength(lengths)) setting.length = longest;
  return setting;
}

std::optional<Tuning> tuningOf(const LiveStore& store) {
  auto model = tuning::memoryModelOf(store);
  if (!model) return std::nullopt;
  const auto& records = store.steps().records;
  const auto last = std::find_if(records.rbegin(), records.rend(),
                                 [](const auto& step) { return step.batch_size() > 0; });
  if (last == records.rend()) return std::nullopt;
  MemoryModel goingOn = model->goingOn(tuning::heldMemoryOf(store));
  const Setting setting = settingOf(*last, *model);
  Tuning tuned{std::move(*model), std::move(goingOn), setting};
  if (store.run() && store.run()->maxBatchSize > 0) {
    tuned.mostBatch = store.run()->maxBatchSize;
    tuned.runHasMost = !store.ownScript();
  }
  if (store.run() && store.run()->maxSequenceLength > 0) {
    tuned.mostLength = store.run()->maxSequenceLength;
  }
  return tuned;
}

QJsonObject predictionJson(const Prediction& prediction) {
  return {{"bytes", integer(prediction.bytes)},
          {"lower", integer(prediction.lower)},
          {"upper", integer(prediction.upper)},
          {"kind", text(tuning::basisKey(prediction.basis))}};
}

QJsonObject boundsJson(const tuning::Range& range) {
  return {{"lower", real(range.lower)}, {"upper", real(range.upper)}};
}

QJsonValue headroomJson(const MemoryModel& model, Setting setting) {
  if (model.limits().recommendedBytes == 0) return QJsonValue();
  switch (model.headroom(setting)) {
    case tuning::Headroom::kSafe:
      return QStringLiteral("safe");
    case tuning::Headroom::kAboveRecommended:
      return QStringLiteral("above_recommended");
    case tuning::Headroom::kAboveLowWatermark:
      return QStringLiteral("above_low_watermark");
    case tuning::Headroom::kAboveHighWatermark:
      break;
  }
  return QStringLiteral("above_high_watermark");
}

QJsonArray predictedJson(const Tuning& tuned) {
  const Setting at = tuned.setting;
  std::vector<Setting> settings{at, {at.batch * 2, at.length}};
  if (at.batch > 1) settings.insert(settings.begin(), {at.batch / 2, at.length});
  if (at.length > 1) settings.push_back({at.batch, at.length * 2});
  QJsonArray all;
  for (const Setting& setting : settings) {
    all.append(QJsonObject{{"batch_size", integer(setting.batch)},
                           {"sequence_length", integer(setting.length)},
                           {"current", predictionJson(tuned.model.current(setting))},
                           {"driver", predictionJson(tuned.model.driver(setting))},
                           {"driver_going_on", predictionJson(tuned.goingOn.driver(setting))},
                           {"headroom", headroomJson(tuned.model, setting)}});
  }
  return all;
}

QJsonArray measuredJson(const MemoryModel& model) {
  QJsonArray all;
  for (const Observation& each : model.observations()) {
    all.append(QJsonObject{{"batch_size", integer(each.setting.batch)},
                           {"sequence_length", integer(each.setting.length)},
                           {"steps", integer(each.steps)},
                           {"current_peak", integer(each.peakCurrent)},
                           {"driver_peak", orNull(each.peakDriver > 0, integer(each.peakDriver))},
                           {"driver_includes_earlier", each.driverIncludesEarlier}});
  }
  return all;
}

QJsonValue orNull(const std::optional<std::uint32_t>& value) {
  return value ? integer(*value) : QJsonValue();
}

/// The largest safe batch, with what it holds for.
std::string safeBatchText(const Tuning& tuned) {
  const Setting at = tuned.setting;
  const std::string length =
      at.length > 1 ? " at length " + std::to_string(at.length) : std::string();
  const auto largest = tuned.largestBatch();
  std::string text = largest ? std::to_string(*largest) + length : "none is certain" + length;
  if (largest == tuned.mostBatch) {
    text += tuned.runHasMost ? ", the most that the run allows" : ", the largest that is predicted";
  }
  const double high = tuned.model.limits().highWatermarkRatio;
  return text + " (in a fresh process; limit " + formatBytes(tuned.model.safeBytes()) + ", " +
         (high > 0 && high < 1 - tuning::kDefaultReserve
              ? "the high watermark)"
              : formatDecimals(100 * tuning::kDefaultReserve, 0) + " % under recommended)");
}

}  // namespace

void addTuningParts(const LiveStore& store, const analysis::Findings& findings,
                    QJsonObject& report) {
  report["memory_model"] = QJsonValue();
  const auto tuned = tuningOf(store);
  if (!tuned) return;
  const MemoryModel& model = tuned->model;
  const std::uint64_t limit = model.safeBytes();
  const std::uint64_t held = tuned->goingOn.held() ? tuned->goingOn.held()->driverNow : 0;
  // Where memory grows, no setting is safe for good.
  const auto safe = [&](const std::optional<std::uint32_t>& most) {
    return findings.driverMemoryGrows() ? QJsonValue() : orNull(most);
  };
  report["memory_model"] =
      QJsonObject{{"batch_size", integer(tuned->setting.batch)},
                  {"sequence_length", integer(tuned->setting.length)},
                  {"predicted_peak", predictedJson(*tuned)},
                  {"error", real(model.confidence().error)},
                  {"largest_safe_batch", safe(tuned->largestBatch())},
                  {"largest_safe_batch_going_on", safe(tuned->largestBatchGoingOn())},
                  {"held", orNull(held > 0, integer(held))},
                  {"longest_safe_length", safe(tuned->longestLength())},
                  {"limit", orNull(limit > 0, integer(limit))},
                  {"reserve", real(tuning::kDefaultReserve)},
                  {"fixed", predictionJson(model.fixedPart())},
                  {"bytes_per_token", real(model.formula().perToken())},
                  {"bytes_per_score", real(model.formula().perScore())},
                  {"bytes_per_token_bounds", boundsJson(model.formula().perTokenRange())},
                  {"bytes_per_score_bounds", boundsJson(model.formula().perScoreRange())},
                  {"confidence", text(model.confidence().text)},
                  {"measured", measuredJson(model)}};
}

void addTuningLine(const LiveStore& store, const analysis::Findings& findings, bool full,
                   TextTable& head) {
  const auto tuned = tuningOf(store);
  if (!tuned) return;
  const Setting at = tuned->setting;
  if (const double error = tuned->model.confidence().error; error > kMostError) {
    head.add({"Tuning",
              "no prediction: what the settings of this run needed differs by more than "
              "their sizes explain (one from the others within " +
                  formatDecimals(100 * error, 0) + " %)"});
    return;
  }
  // A batch that the run does not take is no choice.
  const bool canDouble = at.batch <= tuned->mostBatch / 2;
  const std::uint32_t other = canDouble ? at.batch * 2 : std::max(1U, at.batch / 2);
  std::string line = tuned->model.sentence({other, at.length});
  const std::uint64_t limit = tuned->model.safeBytes();
  const bool grows = findings.driverMemoryGrows();
  if (limit > 0 && !grows) {
    line += ". Largest safe batch: " + safeBatchText(*tuned);
  }
  if (grows) {
    line +=
        ". Memory grows, as the findings say: a longer run takes more than this, and no batch is "
        "safe for good";
  }
  head.add({"Tuning", full ? line + ". " + tuned->model.confidence().text : line});
}

std::string safeBatchLine(const LiveStore& store, const analysis::Findings& findings) {
  const auto tuned = tuningOf(store);
  const bool isKnown = tuned && !(tuned->model.confidence().error > kMostError) &&
                       tuned->model.safeBytes() > 0 && !findings.driverMemoryGrows();
  return isKnown ? safeBatchText(*tuned) : std::string();
}

}  // namespace highwater::report
