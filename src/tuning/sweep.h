#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "tuning/memory_model.h"

namespace highwater::tuning {

/// A setting of a sweep: what it was predicted to take, and what its steps took, if it was
/// measured.
struct SweptSetting : Observation {
  /// Of driver memory, before it was measured; 0 bytes: nothing was known.
  Prediction predicted = {};
  std::string reason = {};  ///< for people: why it is measured, or why not
  /// Tokens per second of its steps after the warm-up; 0 where unknown.
  double tokensPerS = 0, lowerQuartile = 0, upperQuartile = 0;
  std::vector<double> rates = {};  ///< of which these are median and quartiles; not in recordings
  std::vector<double> ratesAgain = {};  ///< of the times after the first; not in recordings
  std::uint32_t times = 1;              ///< it was measured
  /// Driver memory with the shorter batch at the end of an epoch, where the steps had none, in
  /// bytes: predicted. 0: an epoch ends with none, or it was among the steps.
  std::uint64_t withShorterBatch = 0;
  bool outOfMemory = false;
  bool safe = false;  ///< driver memory stayed under the limit
  /// No safe setting of this length is at least as fast with at most as much memory.
  bool onFront = false;
  bool leftOut = false;  ///< not measured: only the prediction is known

  /// Sets the throughput to median and quartiles of `of`: of what each step had, credited to the
  /// batch that the device executed (analysis::StepColumns::tokensPerS), or some steps together.
  void setThroughput(std::vector<double> of);
  /// Adds what the same setting took when it was measured again. Its throughput stays until
  /// useRatesAgain().
  void addRepeated(const SweptSetting& again);
  /// Makes its throughput that of the later times.
  void useRatesAgain();
  /// How far the prediction was from what was measured: 0.02 for 2 % too much. std::nullopt where
  /// either is unknown.
  [[nodiscard]] std::optional<double> error() const;
  /// Bytes by which settings are compared: of driver with the end of an epoch, else of current.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::max(peakDriver > 0 ? peakDriver : peakCurrent, withShorterBatch);
  }
};

/// What a sweep has found so far; also of one that was interrupted.
struct Sweep {
  std::vector<SweptSetting> settings = {};  ///< in the order of measuring
  /// Not measured although a user might expect it, for the reason that they name: of each length
  /// the next larger setting. Empty while there is something to measure.
  std::vector<SweptSetting> leftOut = {};
  bool ended = false;     ///< of a recording; false: it goes on, or the run was cut off
  bool complete = false;  ///< false: interrupted, or the settings were used up
  std::optional<Setting> best = std::nullopt;  ///< the recommended setting; none if none was safe
  std::string reason = {};                     ///< why, or why there is none
};

/// A setting as its two numbers: "32 × 128", or "batch 32" for length 1.
[[nodiscard]] std::string shortSettingText(Setting setting);

/// The note that a recording keeps of a setting after the `number`-th measurement of the sweep,
/// from 1; or of one that was left out. That of a setting that was measured again takes the place
/// of its earlier ones. It begins with words for people; the rest is JSON for sweepOf().
[[nodiscard]] std::string noteOf(std::size_t number, const SweptSetting& setting);
/// The note that a recording keeps of a sweep's end.
[[nodiscard]] std::string endNoteOf(const Sweep& sweep);

/// Whether a note is one of a sweep.
[[nodiscard]] bool isSweepNote(const std::string& note);
/// Reads the notes of a sweep in any order of other notes; the last sweep of several. std::nullopt
/// if there is none. Notes of another form are ignored, as the sentences of older recordings are.
[[nodiscard]] std::optional<Sweep> sweepOf(const std::vector<std::string>& notes);
/// The same of a run.
[[nodiscard]] std::optional<Sweep> sweepOf(const analysis::LiveStore& store);

}  // namespace highwater::tuning
