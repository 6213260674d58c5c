#include "tuning/sweep_notes.h"

#include <charconv>
#include <cmath>

#include "core/units.h"
#include "tuning/tensor_budget.h"

namespace highwater::tuning {
namespace {

constexpr std::string_view kPrefix = "Sweep ";
constexpr std::string_view kBetween = " | ";
constexpr std::string_view kLeftOut = "Sweep left out: ";
constexpr std::string_view kDone = "Sweep complete: ";
constexpr std::string_view kCut = "Sweep ended: ";
constexpr std::string_view kRecommended = " recommended";
constexpr std::string_view kNone = "nothing recommended";

std::string mib(std::uint64_t bytes) {
  return formatDecimals(static_cast<double>(bytes) / static_cast<double>(kMiB), 1) + " MiB";
}

std::string predictedText(const Prediction& predicted) {
  return "predicted " + mib(predicted.bytes) + " (" + mib(predicted.lower) + " to " +
         mib(predicted.upper) + ")";
}

/// Takes `word` from the beginning of a text; false where it begins with something else.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <typename Number>
bool takeNumber(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Digits with a decimal point, as formatDecimals() writes them. std::from_chars() of libc++ knows
/// no floating-point numbers.
bool takeReal(std::string_view& text, double& value) {
  std::uint64_t whole = 0;
  if (!takeNumber(text, whole)) return false;
  value = static_cast<double>(whole);
  if (!take(text, ".")) return true;
  double place = 0.1;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    value += place * (text.front() - '0');
    place /= 10;
    text.remove_prefix(1);
  }
  return true;
}

bool takeSize(std::string_view& text, std::uint64_t& bytes) {
  double size = 0;
  if (!takeReal(text, size) || !take(text, " MiB") || size > 1e12) return false;
  bytes = wholeBytes(std::round(size * static_cast<double>(kMiB)));
  return true;
}

bool takeSetting(std::string_view& text, Setting& setting) {
  setting = {};
  if (take(text, "batch ")) return takeNumber(text, setting.batch) && setting.batch > 0;
  return takeNumber(text, setting.batch) && take(text, kTimes) &&
         takeNumber(text, setting.length) && setting.batch > 0 && setting.length > 0;
}

/// Reads one of the parts between bars. A part of another form is the last one, the reason.
bool takePart(std::string_view part, SweptSetting& setting) {
  if (take(part, "predicted ")) {
    return takeSize(part, setting.predicted.bytes) && take(part, " (") &&
           takeSize(part, setting.predicted.lower) && take(part, " to ") &&
           takeSize(part, setting.predicted.upper) && part == ")";
  }
  if (take(part, "driver ")) return takeSize(part, setting.peakDriver) && part.empty();
  if (take(part, "current ")) return takeSize(part, setting.peakCurrent) && part.empty();
  if (take(part, "step ")) return takeReal(part, setting.stepMs) && part == " ms";
  if (part == "out of memory") return setting.outOfMemory = true;
  if (part == "safe") return setting.safe = true;
  if (part == "above the limit") return true;
  return takeReal(part, setting.tokensPerS) && take(part, " tokens/s (") &&
         takeReal(part, setting.lowerQuartile) && take(part, " to ") &&
         takeReal(part, setting.upperQuartile) && part == ")";
}

std::optional<SweptSetting> readSetting(std::string_view note, std::size_t& number) {
  SweptSetting read;
  read.leftOut = take(note, kLeftOut);
  if (!read.leftOut && (!take(note, kPrefix) || !takeNumber(note, number) || !take(note, ": "))) {
    return std::nullopt;
  }
  if (!takeSetting(note, read.setting)) return std::nullopt;
  while (take(note, kBetween)) {
    const std::string_view part = note.substr(0, note.find(kBetween));
    SweptSetting with = read;
    if (!takePart(part, with)) {
      read.reason = note;
      return read;
    }
    read = std::move(with);
    note.remove_prefix(part.size());
  }
  if (!note.empty()) return std::nullopt;
  return read;
}

bool readEnd(std::string_view note, RecordedSweep& sweep) {
  const bool isComplete = take(note, kDone);
  if (!isComplete && !take(note, kCut)) return false;
  Setting best;
  const bool isNone = take(note, kNone);
  if (!isNone && (!takeSetting(note, best) || !take(note, kRecommended))) return false;
  if (!take(note, kBetween)) return false;
  sweep.ended = true;
  sweep.complete = isComplete;
  sweep.best = isNone ? std::nullopt : std::optional(best);
  sweep.reason = note;
  return true;
}

}  // namespace

std::optional<double> SweptSetting::error() const {
  if (predicted.bytes == 0 || peakDriver == 0) return std::nullopt;
  return static_cast<double>(predicted.bytes) / static_cast<double>(peakDriver) - 1;
}

std::string shortSettingText(Setting setting) {
  if (setting.length <= 1) return "batch " + std::to_string(setting.batch);
  return std::to_string(setting.batch) + std::string(kTimes) + std::to_string(setting.length);
}

std::string noteOf(std::size_t number, const SweptSetting& setting) {
  std::string text =
      std::string(kPrefix) + std::to_string(number) + ": " + shortSettingText(setting.setting);
  const auto add = [&text](const std::string& part) { text += std::string(kBetween) + part; };
  if (setting.predicted.bytes > 0) add(predictedText(setting.predicted));
  if (setting.peakDriver > 0) add("driver " + mib(setting.peakDriver));
  if (setting.peakCurrent > 0) add("current " + mib(setting.peakCurrent));
  if (setting.tokensPerS > 0) {
    add(formatDecimals(setting.tokensPerS, 1) + " tokens/s (" +
        formatDecimals(setting.lowerQuartile, 1) + " to " +
        formatDecimals(setting.upperQuartile, 1) + ")");
  }
  if (setting.stepMs > 0) add("step " + formatDecimals(setting.stepMs, 2) + " ms");
  add(setting.outOfMemory ? "out of memory" : setting.safe ? "safe" : "above the limit");
  if (!setting.reason.empty()) add(setting.reason);
  return text;
}

std::string noteOf(const LeftOutSetting& setting) {
  std::string text = std::string(kLeftOut) + shortSettingText(setting.setting);
  if (setting.driver.bytes > 0) {
    text += std::string(kBetween) + predictedText(setting.driver);
  }
  return text + std::string(kBetween) + setting.reason;
}

SweptSetting rowOf(const LeftOutSetting& setting) {
  SweptSetting row;
  row.setting = setting.setting;
  row.predicted = setting.driver;
  row.reason = setting.reason;
  row.leftOut = true;
  return row;
}

std::string noteOf(const SweepResult& result) {
  return std::string(result.complete ? kDone : kCut) +
         (result.best ? shortSettingText(result.best->memory.setting) + std::string(kRecommended)
                      : std::string(kNone)) +
         std::string(kBetween) + result.reason;
}

std::optional<RecordedSweep> sweepOf(const std::vector<std::string>& notes) {
  std::optional<RecordedSweep> sweep;
  for (const std::string& note : notes) {
    std::size_t number = 0;
    if (auto setting = readSetting(note, number)) {
      // A sweep that measured nothing begins with what it left out.
      const bool isNew = !sweep || (setting->leftOut ? sweep->ended : number == 1);
      if (isNew) sweep.emplace();
      (setting->leftOut ? sweep->leftOut : sweep->settings).push_back(std::move(*setting));
    } else if (RecordedSweep end; readEnd(note, end)) {
      // One that was stopped before its first setting has an end only.
      if (sweep && !sweep->ended) {
        end.settings = std::move(sweep->settings);
        end.leftOut = std::move(sweep->leftOut);
      }
      sweep = std::move(end);
    }
  }
  return sweep;
}

bool isSweepNote(const std::string& note) {
  return sweepOf(std::vector{note}).has_value();
}

std::optional<RecordedSweep> sweepOf(const analysis::LiveStore& store) {
  std::vector<std::string> notes;
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::Note) continue;
    notes.push_back(store.name(marker.text()));
  }
  return sweepOf(notes);
}

}  // namespace highwater::tuning
