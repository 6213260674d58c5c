#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"
#include "tuning/sweep_planner.h"

namespace highwater::tuning {

/// A setting that a sweep measured: a row of its table.
struct SweptSetting {
  Setting setting;
  Prediction predicted;  ///< of driver memory, before it was measured; 0 bytes: nothing was known
  std::uint64_t peakDriver = 0, peakCurrent = 0;  ///< bytes; 0 where unknown
  bool safe = false;
  bool outOfMemory = false;
  double tokensPerS = 0, lowerQuartile = 0, upperQuartile = 0;  ///< 0 where unknown
  double stepMs = 0;                                            ///< median; 0 where unknown
  std::string reason;                                           ///< why it was measured, or why not
  bool leftOut = false;  ///< not measured: only the prediction is known

  /// How far the prediction was from what was measured: 0.02 for 2 % too much. std::nullopt where
  /// either is unknown.
  [[nodiscard]] std::optional<double> error() const;
};

/// The sweep that a recording holds.
struct RecordedSweep {
  std::vector<SweptSetting> settings;  ///< in the order of measuring
  std::vector<SweptSetting> leftOut;   ///< not measured, for the reason that they name
  bool ended = false;                  ///< false: it goes on, or the run was cut off
  bool complete = false;               ///< false: interrupted, or the settings were used up
  std::optional<Setting> best;         ///< the recommended setting
  std::string reason;                  ///< why, or why there is none; empty until it has ended
};

/// A setting as its two numbers: "32 × 128", or "batch 32" for length 1.
[[nodiscard]] std::string shortSettingText(Setting setting);

/// The note that a recording keeps of a measured setting, the `number`-th of the sweep, from 1.
/// Sizes are kept to 0.1 MiB.
[[nodiscard]] std::string noteOf(std::size_t number, const SweptSetting& setting);
/// The note that a recording keeps of a setting that was left out.
[[nodiscard]] std::string noteOf(const LeftOutSetting& setting);
/// A setting that was left out, as a row of the table.
[[nodiscard]] SweptSetting rowOf(const LeftOutSetting& setting);
/// The note that a recording keeps of a sweep's end.
[[nodiscard]] std::string noteOf(const SweepResult& result);

/// Whether a note is one of a sweep.
[[nodiscard]] bool isSweepNote(const std::string& note);
/// Reads the notes of a sweep in any order of other notes; the last sweep of several. std::nullopt
/// if there is none. Notes of another form are ignored.
[[nodiscard]] std::optional<RecordedSweep> sweepOf(const std::vector<std::string>& notes);
/// The same of a run.
[[nodiscard]] std::optional<RecordedSweep> sweepOf(const analysis::LiveStore& store);

}  // namespace highwater::tuning
