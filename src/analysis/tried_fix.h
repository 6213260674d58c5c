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

/// A block of steps of a try, with the waits at a line or without them. The device is idle where it
/// begins and where it ends.
struct TriedBlock {
  bool leavesOut = false;
  std::int64_t beginNs = 0, endNs = 0;
  std::uint32_t firstStep = 0, lastStep = 0;
  bool isDisturbed = false;  ///< it has an evaluation in it, so that its time is not that of steps
};

/// What a fix has gained where it was tried in a run, in blocks of steps with and without the waits
/// at a line.
struct TriedFix {
  std::string line;                  ///< "train.py:41"
  double withMs = 0, withoutMs = 0;  ///< of a step, mean of the blocks
  Gain gain;  ///< ms a step; low and high are its 95 % interval, and may be below 0
  std::uint32_t firstStep = 0, lastStep = 0;
};

/// The note that begins a try of a line: a recording has it before the markers of the blocks.
[[nodiscard]] std::string noteOfTry(std::string_view line);

/// The blocks of the last try in a run's markers, complete ones only, oldest first. A block ends
/// where the next one begins, or the try. None where the waits went on though they were to be left
/// out, as a script waits for a value that has another size each time.
[[nodiscard]] std::vector<TriedBlock> lastTriedBlocksOf(const LiveStore& store);

/// What the blocks show. Each two neighbours of which one has the waits are a pair, no block in
/// two; the gain is the mean of their differences, with Student's interval. So what changes slowly,
/// as a machine that gets hot, cancels where the blocks are in the order A B B A. std::nullopt for
/// fewer than two pairs.
[[nodiscard]] std::optional<TriedFix> triedFixOf(std::string line,
                                                 std::span<const TriedBlock> blocks);

/// What was tried in a run, oldest first; of each line the last try only.
[[nodiscard]] std::vector<TriedFix> triedFixesOf(const LiveStore& store);

/// A measured gain as text: "6.1 ms a step, measured (5.2 to 7.0)"; "nothing that a try could
/// measure (-0.4 to 0.6 ms a step)" where 0 is in its interval.
[[nodiscard]] std::string measuredGainText(const Gain& gain);
/// How it was measured: "tried in steps 41 to 161: 20.1 ms a step with these waits, 14.0 without".
[[nodiscard]] std::string triedText(const TriedFix& fix);

}  // namespace highwater::analysis
