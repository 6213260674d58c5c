#include "analysis/tried_fix.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/named_phases.h"
#include "core/messages.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr std::string_view kTrying = "Highwater tries the training without ";

/// The 97.5 % quantile of Student's distribution, by degrees of freedom from 1; the last for more.
double studentQuantile(std::size_t freedom) {
  constexpr std::array kQuantiles{12.71, 4.303, 3.182, 2.776, 2.571, 2.447,
                                  2.365, 2.306, 2.262, 2.228, 2.201, 2.179};
  return kQuantiles[std::clamp<std::size_t>(freedom, 1, kQuantiles.size()) - 1];
}

double stepMsOfBlock(const TriedBlock& block) {
  return toMs(block.endNs - block.beginNs) / (block.lastStep - block.firstStep + 1);
}

/// A try as the markers tell it.
struct Try {
  std::string line;
  std::vector<TriedBlock> blocks;
  bool isOver = false;
  bool wasLeftOut = false;  ///< what the try was to leave out
};

/// Finds out whether the waits at the line were left out at all: a value of another type or size is
/// read as ever. And which blocks have something in them that is no step: an evaluation, say.
void judge(const LiveStore& store, Try& tried) {
  std::size_t with = 0, without = 0;
  for (TriedBlock& block : tried.blocks) {
    const auto& syncs = store.syncPoints();
    auto sync = std::partition_point(syncs.begin(), syncs.end(), [&](const auto& each) {
      return each.begin_ns() < block.beginNs;
    });
    for (; sync != syncs.end() && sync->begin_ns() < block.endNs; ++sync) {
      if (store.callSiteParts(sync->call_site()).line != tried.line) continue;
      ++(block.leavesOut ? without : with);
    }
    const SpanIndex& lane = store.namedLane();
    for (std::size_t i = 0; i < lane.size() && !block.isDisturbed; ++i) {
      const Span span = lane[i];
      block.isDisturbed = span.beginNs < block.endNs && span.endNs > block.beginNs &&
                          isEvaluation(store, store.namedSpans()[span.payload]);
    }
  }
  tried.wasLeftOut = with > 0 && 4 * without < with;
}

std::vector<Try> triesOf(const LiveStore& store) {
  std::vector<Try> tries;
  bool isOpen = false;  // the last block of the last try
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::Note) continue;
    const std::string text = store.name(marker.text());
    if (!text.starts_with(kTryPrefix)) continue;
    if (text.starts_with(kTrying)) {
      tries.push_back({text.substr(kTrying.size()), {}, false, false});
      isOpen = false;
      continue;
    }
    const bool begins = text == kTriesWith || text == kTriesWithout;
    if (tries.empty() || tries.back().isOver || (!begins && text != kTriedEnough)) continue;
    Try& last = tries.back();
    if (isOpen) {
      TriedBlock& block = last.blocks.back();
      block.endNs = marker.time_ns();
      block.lastStep = marker.step();
      if (block.lastStep < block.firstStep) last.blocks.pop_back();
    }
    if (begins) {
      last.blocks.push_back({text == kTriesWithout, marker.time_ns(), 0, marker.step() + 1, 0});
    }
    isOpen = begins;
    last.isOver = !begins;
  }
  if (isOpen) tries.back().blocks.pop_back();
  for (Try& each : tries) judge(store, each);
  return tries;
}

}  // namespace

std::string noteOfTry(std::string_view line) {
  return std::string(kTrying).append(line);
}

std::vector<TriedBlock> lastTriedBlocksOf(const LiveStore& store) {
  std::vector<Try> tries = triesOf(store);
  const bool isMeasured = !tries.empty() && tries.back().wasLeftOut;
  return isMeasured ? std::move(tries.back().blocks) : std::vector<TriedBlock>();
}

std::optional<TriedFix> triedFixOf(std::string line, std::span<const TriedBlock> blocks) {
  std::vector<double> gains;
  TriedFix fix;
  fix.line = std::move(line);
  for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
    const TriedBlock &a = blocks[i], &b = blocks[i + 1];
    if (a.leavesOut == b.leavesOut) continue;
    if (a.isDisturbed || b.isDisturbed) {
      ++i;
      continue;
    }
    const double with = stepMsOfBlock(a.leavesOut ? b : a);
    const double without = stepMsOfBlock(a.leavesOut ? a : b);
    gains.push_back(with - without);
    fix.withMs += with;
    fix.withoutMs += without;
    ++i;
  }
  if (gains.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(gains.size());
  double mean = 0, squares = 0;
  for (const double gain : gains) mean += gain / count;
  for (const double gain : gains) squares += (gain - mean) * (gain - mean);
  const double half = studentQuantile(gains.size() - 1) * std::sqrt(squares / (count - 1) / count);
  fix.gain = {mean - half, mean, mean + half};
  fix.withMs /= count;
  fix.withoutMs /= count;
  fix.firstStep = blocks.front().firstStep;
  fix.lastStep = blocks.back().lastStep;
  return fix;
}

std::vector<TriedFix> triedFixesOf(const LiveStore& store) {
  std::vector<TriedFix> fixes;
  for (Try& each : triesOf(store)) {
    auto fix = triedFixOf(std::move(each.line), each.blocks);
    if (!fix || !each.wasLeftOut) continue;
    std::erase_if(fixes, [&](const TriedFix& earlier) { return earlier.line == fix->line; });
    fixes.push_back(std::move(*fix));
  }
  return fixes;
}

std::string measuredGainText(const Gain& gain) {
  if (gain.low <= 0 && gain.high >= 0) {
    return "nothing that a try could measure (" + formatMs(gain.low) + " to " +
           formatMs(gain.high) + " a step)";
  }
  return formatMs(gain.estimate) + " a step, measured (" + formatMs(gain.low) + " to " +
         formatMs(gain.high) + ")";
}

std::string triedText(const TriedFix& fix) {
  return "tried in steps " + std::to_string(fix.firstStep) + " to " + std::to_string(fix.lastStep) +
         ": " + formatMs(fix.withMs) + " a step with these waits, " + formatMs(fix.withoutMs) +
         " without";
}

}  // namespace highwater::analysis
