#include "tuning/sweep.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/statistics.h"

namespace highwater::tuning {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPrefix[] = "Sweep ";

/// A note: words for people, then the data.
std::string noteWith(const std::string& words, const Json& data) {
  return kPrefix + words + ' ' + data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The data of a note; null if it is none of a sweep.
Json dataOf(const std::string& note) {
  const std::size_t begin = note.find('{');
  if (!note.starts_with(kPrefix) || begin == std::string::npos) return nullptr;
  return Json::parse(note.begin() + static_cast<std::ptrdiff_t>(begin), note.end(), nullptr, false);
}

Setting settingOf(const Json& data) {
  return {std::max(1U, data.at("batch").get<std::uint32_t>()),
          std::max(1U, data.at("length").get<std::uint32_t>())};
}

/// Throws a Json::exception for data of another form.
SweptSetting rowOf(const Json& data) {
  SweptSetting row;
  row.setting = settingOf(data);
  const auto predicted = data.at("predicted").get<std::array<std::uint64_t, 3>>();
  row.predicted = {predicted[0], predicted[1], predicted[2]};
  row.peakDriver = data.at("driver").get<std::uint64_t>();
  row.peakCurrent = data.at("current").get<std::uint64_t>();
  const auto rate = data.at("tokens_per_s").get<std::array<double, 3>>();
  row.tokensPerS = rate[0];
  row.lowerQuartile = rate[1];
  row.upperQuartile = rate[2];
  row.stepMs = data.at("step_ms").get<double>();
  row.outOfMemory = data.at("out_of_memory").get<bool>();
  row.safe = data.at("safe").get<bool>();
  row.leftOut = data.at("left_out").get<bool>();
  row.reason = data.at("reason").get<std::string>();
  row.withShorterBatch = data.value("with_shorter_batch", std::uint64_t{0});
  return row;
}

/// Adds what a note says to the sweep, or begins another one. Throws as rowOf() does, and leaves
/// the sweep as it was.
void readNote(const Json& data, std::optional<Sweep>& sweep) {
  if (data.contains("complete")) {
    Sweep end;
    if (data.contains("batch")) end.best = settingOf(data);
    end.complete = data.at("complete").get<bool>();
    end.reason = data.at("reason").get<std::string>();
    end.ended = true;
    // One that was stopped before its first setting has an end only.
    if (sweep && !sweep->ended) {
      end.settings = std::move(sweep->settings);
      end.leftOut = std::move(sweep->leftOut);
    }
    sweep = std::move(end);
    return;
  }
  SweptSetting row = rowOf(data);
  // A sweep that measured nothing begins with what it left out.
  const bool isNew = !sweep || (row.leftOut ? sweep->ended : data.at("number").get<int>() == 1);
  if (isNew) sweep.emplace();
  if (row.leftOut) return sweep->leftOut.push_back(std::move(row));
  const auto same =
      std::find_if(sweep->settings.begin(), sweep->settings.end(),
                   [&row](const SweptSetting& each) { return each.setting == row.setting; });
  if (same == sweep->settings.end()) {
    sweep->settings.push_back(std::move(row));
  } else {
    *same = std::move(row);
  }
}

}  // namespace

void SweptSetting::setThroughput(std::vector<double> of) {
  std::erase_if(of, [](double rate) { return !(rate > 0); });
  if (of.empty()) return;
  rates = std::move(of);
  tokensPerS = analysis::medianOf(rates);
  lowerQuartile = analysis::percentileOf(rates, 25);
  upperQuartile = analysis::percentileOf(rates, 75);
}

void SweptSetting::addRepeated(const SweptSetting& again) {
  ratesAgain.insert(ratesAgain.end(), again.rates.begin(), again.rates.end());
  peakDriver = std::max(peakDriver, again.peakDriver);
  peakCurrent = std::max(peakCurrent, again.peakCurrent);
  exact = exact && again.exact;
  sawShorterBatch = sawShorterBatch || again.sawShorterBatch;
  steps += again.steps;
  if (again.stepMs > 0) stepMs = again.stepMs;
  outOfMemory = outOfMemory || again.outOfMemory;
  ++times;
}

void SweptSetting::useRatesAgain() {
  setThroughput(std::exchange(ratesAgain, {}));
  reason = "measured again, in turns with what is nearly as fast";
}

std::optional<double> SweptSetting::error() const {
  if (predicted.bytes == 0 || peakDriver == 0) return std::nullopt;
  return static_cast<double>(predicted.bytes) / static_cast<double>(peakDriver) - 1;
}

std::string shortSettingText(Setting setting) {
  if (setting.length <= 1) return "batch " + std::to_string(setting.batch);
  return std::to_string(setting.batch) + std::string(kTimes) + std::to_string(setting.length);
}

std::string noteOf(std::size_t number, const SweptSetting& setting) {
  const Prediction& predicted = setting.predicted;
  return noteWith(
      (setting.leftOut ? "left out: " : std::to_string(number) + ": ") +
          shortSettingText(setting.setting),
      {{"number", number},
       {"batch", setting.setting.batch},
       {"length", setting.setting.length},
       {"predicted", {predicted.bytes, predicted.lower, predicted.upper}},
       {"driver", setting.peakDriver},
       {"with_shorter_batch", setting.withShorterBatch},
       {"current", setting.peakCurrent},
       {"tokens_per_s", {setting.tokensPerS, setting.lowerQuartile, setting.upperQuartile}},
       {"step_ms", setting.stepMs},
       {"out_of_memory", setting.outOfMemory},
       {"safe", setting.safe},
       {"left_out", setting.leftOut},
       {"reason", setting.reason}});
}

std::string endNoteOf(const Sweep& sweep) {
  Json data{{"complete", sweep.complete}, {"reason", sweep.reason}};
  if (sweep.best) data.update({{"batch", sweep.best->batch}, {"length", sweep.best->length}});
  return noteWith((sweep.complete ? "complete: " : "ended: ") +
                      (sweep.best ? shortSettingText(*sweep.best) : "nothing") + " recommended",
                  data);
}

std::optional<Sweep> sweepOf(const std::vector<std::string>& notes) {
  std::optional<Sweep> sweep;
  for (const std::string& note : notes) {
    const Json data = dataOf(note);
    if (!data.is_object()) continue;
    try {
      readNote(data, sweep);
    } catch (const Json::exception&) {
      continue;  // another form
    }
  }
  return sweep;
}

bool isSweepNote(const std::string& note) {
  return sweepOf(std::vector{note}).has_value();
}

std::optional<Sweep> sweepOf(const analysis::LiveStore& store) {
  std::vector<std::string> notes;
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::Note) continue;
    notes.push_back(store.name(marker.text()));
  }
  return sweepOf(notes);
}

}  // namespace highwater::tuning
