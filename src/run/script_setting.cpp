#include "run/script_setting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/run_limits.h"
#include "session/batch_argument.h"

namespace highwater::run {

using tuning::Setting;

namespace {

constexpr std::string_view kUsualBatchKnobs[] = {"batch_size", kLoaderBatchKnob};

/// Steps that show a script's sizes before they are believed.
constexpr std::size_t kFirstSteps = 3;

std::string quoted(const std::string& name) {
  return '"' + name + '"';
}

/// The names of the knobs that are whole numbers, for people.
std::string wholeKnobs(const analysis::LiveStore& store) {
  std::string names;
  for (const ScriptKnob& each : store.scriptKnobs()) {
    if (each.kind == ScriptKnob::Kind::kInteger) {
      names += (names.empty() ? "" : ", ") + each.name;
    }
  }
  return names;
}

/// The knob of that name. "": a knob of the usual names, or nullptr.
Result<const ScriptKnob*> batchKnobOf(const analysis::LiveStore& store, const std::string& name) {
  const ScriptKnob* knob = name.empty() ? nullptr : store.scriptKnob(name);
  for (const std::string_view usual : kUsualBatchKnobs) {
    if (name.empty() && !knob) knob = store.scriptKnob(usual);
  }
  if (knob) return knob;
  const std::string others = wholeKnobs(store);
  if (!name.empty()) {
    return usageError("the script has no knob " + quoted(name) +
                      (others.empty() ? "" : "; it has " + others));
  }
  return failure(
      "nothing sets the script's batch size: it feeds its training by no DataLoader with PyTorch's "
      "own batch sampler, and declares no knob batch_size" +
      (others.empty() ? std::string() : ", only " + others + " (--batch-knob)") +
      "; read the size by highwater.knob(\"batch_size\", 32, min=1, max=512) where each batch is "
      "made");
}

std::size_t rowFrom(const analysis::LiveStore& store, std::int64_t ns) {
  const auto& records = store.steps().records;
  const auto found =
      std::partition_point(records.begin(), records.end(),
                           [ns](const events::StepRecord& each) { return each.begin_ns() < ns; });
  return static_cast<std::size_t>(found - records.begin());
}

/// The first row whose batch is that of the knob's value: after its last change, and after the mark
/// of another size if one follows that.
std::size_t firstSettledRow(const analysis::LiveStore& store, const std::string& knob,
                            bool& isSettled) {
  std::optional<std::int64_t> changedNs;
  for (const analysis::ScriptKnobChange& each : store.scriptKnobChanges()) {
    if (each.name == knob) changedNs = each.timeNs;
  }
  std::size_t row = changedNs ? rowFrom(store, *changedNs) : 0;
  const std::size_t passed = store.steps().records.size() - row;
  isSettled = !changedNs || passed >= ScriptSetting::mostLateSteps(store);
  for (const events::Marker& marker : store.markers()) {
    if (!changedNs || marker.kind() != events::MarkerKind::BatchSize) continue;
    if (marker.time_ns() < *changedNs) continue;
    row = rowFrom(store, marker.time_ns());
    isSettled = true;
  }
  isSettled = isSettled && store.steps().records.size() >= row + kFirstSteps;
  return row;
}

/// The newest steps without those that are shorter than most: the last batch of an epoch.
Result<Setting> shownBy(const analysis::LiveStore& store, std::size_t from, bool& lengthsVary) {
  constexpr std::size_t kLooksAt = 64;
  const auto& records = store.steps().records;
  std::map<std::uint32_t, std::size_t> counts;
  const std::size_t first =
      std::max(from, records.size() > kLooksAt ? records.size() - kLooksAt : 0);
  for (std::size_t row = first; row < records.size(); ++row) ++counts[records[row].batch_size()];
  counts.erase(0);
  if (counts.empty()) {
    return failure(
        "the batch size of the script's steps is not known: its model gets no tensor whose first "
        "dimension is the batch");
  }
  // The newest steps may already have another size than most.
  const std::uint32_t last = records.back().batch_size();
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::uint32_t batch =
      last > most->first && counts[last] >= kFirstSteps ? last : most->first;
  Setting shown{batch, 1};
  std::uint32_t shortest = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t row = first; row < records.size(); ++row) {
    if (records[row].batch_size() != batch) continue;
    const std::uint32_t length = std::max(1U, records[row].sequence_length());
    shown.length = std::max(shown.length, length);
    shortest = std::min(shortest, length);
  }
  lengthsVary = shortest < shown.length;
  return shown;
}

}  // namespace

std::uint32_t ScriptSetting::Knob::valueOf(std::uint32_t shown) const {
  return shown / perValue * perShown;
}

std::uint32_t ScriptSetting::Knob::shownAt(double value) const {
  const double shown = value / perShown * perValue;
  return static_cast<std::uint32_t>(
      std::clamp(shown, 1.0, double{std::numeric_limits<std::uint32_t>::max()}));
}

Result<ScriptSetting::Knob> ScriptSetting::relate(const ScriptKnob& knob, std::uint32_t shown,
                                                  const char* what) {
  if (knob.kind != ScriptKnob::Kind::kInteger || !(knob.value >= 1)) {
    return usageError("the knob " + quoted(knob.name) + " is no whole number from 1 on");
  }
  Knob found;
  found.name = knob.name;
  found.minimum = std::max(1.0, knob.minimum);
  found.maximum = std::min(knob.maximum, double{kMostBatchSize});
  const auto value = static_cast<std::uint32_t>(std::min(knob.value, 4e9));
  if (shown % value == 0) {
    found.perValue = shown / value;
  } else if (value % shown == 0) {
    found.perShown = value / shown;
  } else {
    return failure("the steps show a " + std::string(what) + " of " + std::to_string(shown) +
                   " where the knob " + quoted(knob.name) + " is " + std::to_string(value) +
                   ": which value another one needs is not known");
  }
  return found;
}

bool ScriptSetting::isUsualBatchKnob(std::string_view name) {
  return std::find(std::begin(kUsualBatchKnobs), std::end(kUsualBatchKnobs), name) !=
         std::end(kUsualBatchKnobs);
}

std::size_t ScriptSetting::mostLateSteps(const analysis::LiveStore& store) {
  constexpr std::size_t kFew = 32, kPerWorker = 8;
  const bool isKnown = store.run() && store.run()->loader;
  return kFew + (isKnown ? store.run()->loader->workers * kPerWorker : 0);
}

bool ScriptSetting::hasSettled(const analysis::LiveStore& store, const SweptKnobs& names) {
  if (store.steps().records.size() < kFirstSteps) return false;
  const auto batch = batchKnobOf(store, names.batch);
  if (!batch) return true;  // find() says so
  bool isSettled = false;
  (void)firstSettledRow(store, (*batch)->name, isSettled);
  return isSettled;
}

Result<ScriptSetting> ScriptSetting::find(const analysis::LiveStore& store,
                                          const SweptKnobs& names) {
  const auto batch = batchKnobOf(store, names.batch);
  if (!batch) return batch.error();
  ScriptSetting setting;
  bool isSettled = false;
  const std::size_t row = firstSettledRow(store, (*batch)->name, isSettled);
  const auto shown = shownBy(store, row, setting.lengthsVary_);
  if (!shown) return shown.error();
  setting.own_ = *shown;
  auto knob = relate(**batch, shown->batch, "batch");
  if (!knob) return knob.error();
  setting.batch_ = std::move(*knob);
  setting.declaredAt_ = (*batch)->declaredAt;
  setting.warning_ = (*batch)->warning;
  if (names.length.empty()) return setting;
  const ScriptKnob* length = store.scriptKnob(names.length);
  if (!length) {
    return usageError("the script has no knob " + quoted(names.length) + "; it has " +
                      wholeKnobs(store));
  }
  if (shown->length <= 1) {
    return failure(
        "the sequence length of the script's steps is not known: its model gets no "
        "batch of token ids");
  }
  auto related = relate(*length, shown->length, "sequence length");
  if (!related) return related.error();
  setting.length_ = std::move(*related);
  setting.lengthsVary_ = false;
  return setting;
}

std::uint32_t ScriptSetting::smallestBatch() const {
  return batch_.shownAt(batch_.minimum);
}

std::uint32_t ScriptSetting::largestBatch() const {
  return std::max(own_.batch, std::min(batch_.shownAt(batch_.maximum), kMostBatchSize));
}

std::vector<SetScriptKnob> ScriptSetting::valuesAt(Setting setting) const {
  std::vector<SetScriptKnob> values{{batch_.name, double(batchValue(setting))}};
  if (setsLength()) values.push_back({length_.name, double(length_.valueOf(setting.length))});
  return values;
}

std::string ScriptSetting::howToSet(Setting setting, const QStringList& command) const {
  std::string text = session::batchArgumentText({.command = command,
                                                 .knob = batch_.name,
                                                 .declaredAt = declaredAt_,
                                                 .from = batchValue(own_),
                                                 .to = batchValue(setting)});
  if (setting.batch == own_.batch) text = "nothing to change of the batch: " + text;
  if (!setsLength() || setting.length == own_.length) return text;
  return text + ", and " + length_.name + " = " + std::to_string(length_.valueOf(setting.length));
}

bool ScriptSetting::isAt(const events::StepRecord& step, Setting setting) const {
  return step.batch_size() == setting.batch &&
         (!setsLength() || std::max(1U, step.sequence_length()) == setting.length);
}

}  // namespace highwater::run
