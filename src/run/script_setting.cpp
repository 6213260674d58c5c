#include "run/script_setting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/run_limits.h"

namespace highwater::run {

using tuning::Setting;

namespace {

const ScriptKnob* knobNamed(const analysis::LiveStore& store, const std::string& name) {
  for (const ScriptKnob& each : store.scriptKnobs()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

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
  constexpr const char* kUsual[] = {"batch_size", "dataloader_batch_size"};
  const ScriptKnob* knob = name.empty() ? nullptr : knobNamed(store, name);
  for (const char* usual : kUsual) {
    if (name.empty() && !knob) knob = knobNamed(store, usual);
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

/// The newest steps without those that are shorter than most: the last batch of an epoch.
Result<Setting> shownBy(const analysis::LiveStore& store, bool& lengthsVary) {
  constexpr std::size_t kLooksAt = 64;
  const auto& records = store.steps().records;
  std::map<std::uint32_t, std::size_t> counts;
  const std::size_t first = records.size() > kLooksAt ? records.size() - kLooksAt : 0;
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
      last > most->first && counts[last] >= ScriptSetting::kFirstSteps ? last : most->first;
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

Result<ScriptSetting> ScriptSetting::find(const analysis::LiveStore& store,
                                          const SweptKnobs& names) {
  const auto batch = batchKnobOf(store, names.batch);
  if (!batch) return batch.error();
  ScriptSetting setting;
  const auto shown = shownBy(store, setting.lengthsVary_);
  if (!shown) return shown.error();
  setting.own_ = *shown;
  auto knob = relate(**batch, shown->batch, "batch");
  if (!knob) return knob.error();
  setting.batch_ = std::move(*knob);
  setting.declaredAt_ = (*batch)->declaredAt;
  setting.warning_ = (*batch)->warning;
  if (names.length.empty()) return setting;
  const ScriptKnob* length = knobNamed(store, names.length);
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

std::vector<SetScriptKnob> ScriptSetting::changesTo(Setting setting,
                                                    const analysis::LiveStore& store) const {
  std::vector<SetScriptKnob> changes;
  const auto change = [&](const Knob& knob, std::uint32_t shown) {
    const ScriptKnob* now = knobNamed(store, knob.name);
    const double value = knob.valueOf(shown);
    if (!now || now->value != value) changes.push_back({knob.name, value});
  };
  change(batch_, setting.batch);
  if (setsLength()) change(length_, setting.length);
  return changes;
}

bool ScriptSetting::isAt(const events::StepRecord& step, Setting setting) const {
  return step.batch_size() == setting.batch &&
         (!setsLength() || std::max(1U, step.sequence_length()) == setting.length);
}

}  // namespace highwater::run
