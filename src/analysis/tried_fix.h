#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/device/gain_estimate.h"
#include "analysis/live_store.h"

namespace highwater::analysis {

/// The blocks that a try of a knob begins with, as it was and changed, which are not compared: a
/// new value may cost something once, as shaders to be compiled.
inline constexpr std::size_t kFirstBlocksOfKnob = 2;

/// A block of steps of a try: as they were, or with the change that is tried. The device is idle
/// where it begins and where it ends.
struct TriedBlock {
  bool isChanged = false;
  std::int64_t beginNs = 0, endNs = 0;
  std::uint32_t firstStep = 0, lastStep = 0;
  bool isDisturbed =
      false;           ///< its time is not that of steps alone: it has an evaluation in it, say
  double batches = 1;  ///< whose gradients a step adds up, the mean
};

/// What is tried: to leave out the waits at a line, or another value of a knob.
struct TriedChange {
  std::string line{};           ///< "train.py:41"; empty for a knob
  std::string knob{}, value{};  ///< its name and its other value as texts; empty for waits

  /// For people: "accumulation = 4", or the line.
  [[nodiscard]] std::string text() const { return knob.empty() ? line : knob + " = " + value; }

  bool operator==(const TriedChange&) const = default;
};

/// What a change has gained where it was tried in a run, in blocks of steps in turns.
struct TriedFix {
  TriedChange change;
  /// Of a step, mean of the blocks: as it was and with the change. Where steps add up more or fewer
  /// batches with it (`perBatch`), changedMs is for as many as a step had before.
  double withMs = 0, changedMs = 0;
  bool perBatch = false;
  Gain gain;  ///< ms a step; low and high are its 95 % interval, and may be below 0
  std::uint32_t firstStep = 0, lastStep = 0;
};

/// The note that begins a try: a recording has it before the markers of the blocks.
[[nodiscard]] std::string noteOfTry(const TriedChange& change);

/// The blocks of the last try in a run's markers, complete ones only, oldest first. A block ends
/// where the next one begins, or the try. Without kFirstBlocksOfKnob. None where the change was not
/// there when it was to be: where a script waits nevertheless, as for a value that has another size
/// each time, or has taken a knob's value after the first step of a block.
[[nodiscard]] std::vector<TriedBlock> lastTriedBlocksOf(const LiveStore& store);

/// What the blocks show. Each two neighbours of which one is changed are a pair, no block in two;
/// the gain is the mean of their differences, with Student's interval. So what changes slowly, as a
/// machine that gets hot, cancels where the blocks are in the order A B B A. std::nullopt for fewer
/// than two pairs.
[[nodiscard]] std::optional<TriedFix> triedFixOf(TriedChange change,
                                                 std::span<const TriedBlock> blocks);

/// What was tried in a run, oldest first; of each change the last try only.
[[nodiscard]] std::vector<TriedFix> triedFixesOf(const LiveStore& store);

/// A measured gain as text: "6.1 ms a step, measured (5.2 to 7.0)"; "nothing that a try could
/// measure (-0.4 to 0.6 ms a step)" where 0 is in its interval; "a loss of 2.0 ms a step, ..."
/// where it is below.
[[nodiscard]] std::string measuredGainText(const Gain& gain);
/// How it was measured: "tried in steps 41 to 161: 20.1 ms a step with these waits, 14.0 without".
[[nodiscard]] std::string triedText(const TriedFix& fix);
/// Whether steps varied so much by chance that a gain worth having may be hidden.
[[nodiscard]] bool mayHideGain(const TriedFix& fix);
/// What a try has measured: "with accumulation = 4: 6.1 ms a step, measured (5.2 to 7.0)".
[[nodiscard]] std::string changedText(const TriedFix& fix);
/// The same and how: changedText() and triedText().
[[nodiscard]] std::string resultText(const TriedFix& fix);

}  // namespace highwater::analysis
