#include "analysis/tried_fix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/named_phases.h"
#include "core/knobs.h"
#include "core/messages.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr std::string_view kTryingWithout = "Highwater tries the training without ";
constexpr std::string_view kTryingWith = "Highwater tries the training with ";
constexpr std::string_view kEquals = " = ";
/// Blocks whose steps add up as many batches but for this share are compared as they are.
constexpr double kSameBatches = 0.25;

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
  TriedChange change;
  std::vector<TriedBlock> blocks;
  bool isOver = false;
  bool wasChanged = false;  ///< the training was changed in the blocks that were to change it
};

/// What a note begins a try of; std::nullopt: it is another note.
std::optional<TriedChange> changeOf(const LiveStore& store, std::string_view note) {
  if (note.starts_with(kTryingWithout)) {
    return TriedChange{.line = std::string(note.substr(kTryingWithout.size()))};
  }
  if (!note.starts_with(kTryingWith)) return std::nullopt;
  note.remove_prefix(kTryingWith.size());
  std::size_t equals = note.find(kEquals);
  if (equals == std::string_view::npos) return std::nullopt;
  for (const ScriptKnob& each : store.scriptKnobs()) {  // whose names may be any text
    const std::string begin = each.name + std::string(kEquals);
    if (note.starts_with(begin)) equals = std::max(equals, each.name.size());
  }
  return TriedChange{.knob = std::string(note.substr(0, equals)),
                     .value = std::string(note.substr(equals + kEquals.size()))};
}

/// The rows of a block's steps, as first and one past the last.
std::pair<std::size_t, std::size_t> rowsOf(const LiveStore& store, const TriedBlock& block) {
  return {store.steps().firstRowFrom(block.firstStep),
          store.steps().firstRowFrom(block.lastStep + 1)};
}

/// Whether a marker says that the knob of a try was turned, to the other value or back.
bool isTurn(const LiveStore& store, const events::Marker& marker, const TriedChange& change,
            bool isChanged) {
  if (!store.ownScript()) {
    const Knob* const knob = knobOf(change.knob);
    return knob && marker.kind() == knob->kind &&
           (knobText(*knob, marker.value_after()) == change.value) == isChanged;
  }
  if (marker.kind() != events::MarkerKind::Note) return false;
  const std::string note = store.name(marker.text());
  if (!note.starts_with(change.knob + std::string(kEquals))) return false;
  // The script writes real numbers in another way.
  const ScriptKnob* const knob = store.scriptKnob(change.knob);
  const bool isReal = knob && knob->kind == ScriptKnob::Kind::kReal;
  return isReal || (note == change.text()) == isChanged;
}

/// Whether each block began with its own value of the knob: a script may read a knob rarely, or
/// never again.
bool tookValues(const LiveStore& store, const Try& tried) {
  bool wasChanged = false;
  for (const TriedBlock& block : tried.blocks) {
    if (std::exchange(wasChanged, block.isChanged) == block.isChanged) continue;
    const auto [first, end] = rowsOf(store, block);
    const events::StepRecord& step = store.steps().records[first];
    const std::int64_t latestNs = step.begin_ns() + step.duration_ns();
    const bool isTaken = std::any_of(
        store.markers().begin(), store.markers().end(), [&](const events::Marker& marker) {
          return marker.time_ns() >= block.beginNs && marker.time_ns() <= latestNs &&
                 isTurn(store, marker, tried.change, block.isChanged);
        });
    if (!isTaken) return false;
  }
  return true;
}

/// Finds out whether the change was made at all: a value of another type or size is read as ever.
/// And which blocks have something in them that is no step: an evaluation, say.
void judge(const LiveStore& store, Try& tried) {
  std::size_t with = 0, without = 0;
  for (TriedBlock& block : tried.blocks) {
    const auto& syncs = store.syncPoints();
    auto sync = std::partition_point(syncs.begin(), syncs.end(), [&](const auto& each) {
      return each.begin_ns() < block.beginNs;
    });
    const bool isOfWaits = tried.change.knob.empty();
    for (; isOfWaits && sync != syncs.end() && sync->begin_ns() < block.endNs; ++sync) {
      if (store.callSiteParts(sync->call_site()).line != tried.change.line) continue;
      ++(block.isChanged ? without : with);
    }
    double batches = 0;
    const auto [first, end] = rowsOf(store, block);
    for (std::size_t row = first; row < end; ++row) {
      const events::StepRecord& step = store.steps().records[row];
      const double rows =
          static_cast<double>(step.batch_size()) * std::max(step.sequence_length(), 1U);
      batches += rows > 0 ? step.tokens() / rows : 1;
    }
    if (batches > 0) block.batches = batches / static_cast<double>(end - first);
    const SpanIndex& lane = store.namedLane();
    for (std::size_t i = 0; i < lane.size() && !block.isDisturbed; ++i) {
      const Span span = lane[i];
      if (span.beginNs >= block.endNs || span.endNs <= block.beginNs) continue;
      const events::NamedSpan& named = store.namedSpans()[span.payload];
      block.isDisturbed =
          isEvaluation(store, named) || nameKind(store, store.name(named.name())) != NameKind::Own;
    }
    for (const events::Marker& marker : store.markers()) {
      const bool isIn = marker.time_ns() >= block.beginNs && marker.time_ns() < block.endNs;
      if (isIn &&
          (marker.kind() == events::MarkerKind::Paused || store.isStepOutOfMemory(marker))) {
        block.isDisturbed = true;
      }
    }
  }
  tried.wasChanged =
      tried.change.knob.empty() ? with > 0 && 4 * without < with : tookValues(store, tried);
}

std::vector<Try> triesOf(const LiveStore& store) {
  std::vector<Try> tries;
  bool isOpen = false;  // the last block of the last try
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::Note) continue;
    const std::string text = store.name(marker.text());
    if (!text.starts_with(kTryPrefix)) continue;
    if (auto change = changeOf(store, text)) {
      tries.push_back({std::move(*change), {}, false, false});
      isOpen = false;
      continue;
    }
    const bool begins = text.starts_with(kTryBlockPrefix);
    if (tries.empty() || tries.back().isOver || (!begins && text != kTriedEnough)) continue;
    Try& last = tries.back();
    if (isOpen) {
      TriedBlock& block = last.blocks.back();
      block.endNs = marker.time_ns();
      block.lastStep = marker.step();
      if (block.lastStep < block.firstStep) last.blocks.pop_back();
    }
    if (begins) {
      const bool isChanged = text == kTriesWithout || text == kTriesNew;
      last.blocks.push_back({isChanged, marker.time_ns(), 0, marker.step() + 1, 0});
    }
    isOpen = begins;
    last.isOver = !begins;
  }
  if (isOpen) tries.back().blocks.pop_back();
  for (Try& each : tries) {
    auto& blocks = each.blocks;
    // One that was ended as soon as it had begun.
    std::erase_if(blocks, [&store](const TriedBlock& block) {
      const auto [first, end] = rowsOf(store, block);
      return first == end;
    });
    judge(store, each);
    if (each.change.knob.empty()) continue;
    const std::size_t dropped = std::min(blocks.size(), kFirstBlocksOfKnob);
    blocks.erase(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(dropped));
  }
  return tries;
}

}  // namespace

std::string noteOfTry(const TriedChange& change) {
  return std::string(change.knob.empty() ? kTryingWithout : kTryingWith) + change.text();
}

std::vector<TriedBlock> lastTriedBlocksOf(const LiveStore& store) {
  std::vector<Try> tries = triesOf(store);
  const bool isMeasured = !tries.empty() && tries.back().wasChanged;
  return isMeasured ? std::move(tries.back().blocks) : std::vector<TriedBlock>();
}

/// By how much more batches the steps of changed blocks add up; 1 where they have as many.
static double batchesRatio(std::span<const TriedBlock> blocks) {
  double old = 0, changed = 0;
  std::size_t oldCount = 0, changedCount = 0;
  for (const TriedBlock& each : blocks) {
    (each.isChanged ? changed : old) += each.batches;
    ++(each.isChanged ? changedCount : oldCount);
  }
  if (old <= 0 || changed <= 0) return 1;
  const double ratio =
      changed / static_cast<double>(changedCount) * static_cast<double>(oldCount) / old;
  return std::abs(ratio - 1) > kSameBatches ? ratio : 1;
}

std::optional<TriedFix> triedFixOf(TriedChange change, std::span<const TriedBlock> blocks) {
  std::vector<double> gains;
  TriedFix fix;
  fix.change = std::move(change);
  const double ratio = fix.change.knob.empty() ? 1 : batchesRatio(blocks);
  fix.perBatch = ratio != 1;
  for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
    const TriedBlock &a = blocks[i], &b = blocks[i + 1];
    if (a.isChanged == b.isChanged) continue;
    if (a.isDisturbed || b.isDisturbed) {
      ++i;
      continue;
    }
    const TriedBlock &old = a.isChanged ? b : a, &changed = a.isChanged ? a : b;
    const double with = stepMsOfBlock(old);
    const double without = stepMsOfBlock(changed) / ratio;
    gains.push_back(with - without);
    fix.withMs += with;
    fix.changedMs += without;
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
  fix.changedMs /= count;
  fix.firstStep = blocks.front().firstStep;
  fix.lastStep = blocks.back().lastStep;
  return fix;
}

std::vector<TriedFix> triedFixesOf(const LiveStore& store) {
  std::vector<TriedFix> fixes;
  for (Try& each : triesOf(store)) {
    auto fix = triedFixOf(std::move(each.change), each.blocks);
    if (!fix || !each.wasChanged) continue;
    std::erase_if(fixes, [&](const TriedFix& earlier) { return earlier.change == fix->change; });
    fixes.push_back(std::move(*fix));
  }
  return fixes;
}

std::string measuredGainText(const Gain& gain) {
  if (gain.low <= 0 && gain.high >= 0) {
    return "nothing that a try could measure (" + formatMs(gain.low) + " to " +
           formatMs(gain.high) + " a step)";
  }
  if (gain.high < 0) {
    return "a loss of " + formatMs(-gain.estimate) + " a step, measured (" + formatMs(-gain.high) +
           " to " + formatMs(-gain.low) + ")";
  }
  return formatMs(gain.estimate) + " a step, measured (" + formatMs(gain.low) + " to " +
         formatMs(gain.high) + ")";
}

std::string triedText(const TriedFix& fix) {
  const bool isOfKnob = !fix.change.knob.empty();
  return "tried in steps " + std::to_string(fix.firstStep) + " to " + std::to_string(fix.lastStep) +
         ": " + formatMs(fix.withMs) +
         (isOfKnob ? " a step as it was, " : " a step with these waits, ") +
         formatMs(fix.changedMs) + (isOfKnob ? " with it" : " without") +
         (fix.perBatch ? ", for as many batches" : "");
}

bool mayHideGain(const TriedFix& fix) {
  constexpr double kLeastShare = 0.1, kLeastMs = 0.5;
  return fix.gain.low <= 0 && fix.gain.high > std::max(kLeastShare * fix.withMs, kLeastMs);
}

std::string changedText(const TriedFix& fix) {
  return (fix.change.knob.empty() ? "without the waits at " : "with ") + fix.change.text() + ": " +
         (mayHideGain(fix) ? "too noisy to tell (" + formatMs(fix.gain.low) + " to " +
                                 formatMs(fix.gain.high) + " a step)"
                           : measuredGainText(fix.gain));
}

std::string resultText(const TriedFix& fix) {
  return changedText(fix) + "; " + triedText(fix);
}

}  // namespace highwater::analysis
