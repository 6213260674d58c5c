#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison.h"
#include "analysis/findings/findings.h"
#include "core/turns.h"

namespace highwater::analysis {

/// A change of settings within a run, and what it did: the steps before it, from the change before
/// that on, beside those after it, up to the next one. The first step of a setting, which allocates
/// and compiles, does not count, and of many steps the nearest kMostComparedSteps do.
struct RunChange {
  std::string text;             ///< "batch 16 → 32"; of several at once all, with commas
  std::uint32_t firstStep = 0;  ///< the first with the new setting
  std::size_t stepsBefore = 0, stepsAfter = 0;
  ComparedValue stepMs;      ///< mean step time, in ms
  ComparedValue tokensPerS;  ///< 0 where the size of the batches is not known
  std::string rateUnit;      ///< as LiveStore::rateUnit()
  ComparedValue driverPeakBytes;
  bool sameTokens = true;  ///< a step has as many tokens as before, so that step times compare
  /// Findings about time that the steps before have and those after do not. Their gain was
  /// predicted from the steps before; with sameTokens, -stepMs.change() is what all of them gained.
  std::vector<Finding> gone;
};

/// The most steps on either side of a change that are compared.
inline constexpr std::size_t kMostComparedSteps = 300;

/// The newest changes of a run that have kLeastComparedSteps steps on both sides, at most `most`,
/// the newest first. A change of the probe's level divides steps, but is none itself.
[[nodiscard]] std::vector<RunChange> runChanges(const LiveStore& store, std::size_t most);

/// Changes of a run whose steps are complete, so that they need not be compared again. They become
/// invalid with another run, and when a fallback is accepted.
class KnownRunChanges {
 public:
  struct Entry {
    TimeRange before, after;
    RunChange change;
  };
  void clear() { entries_.clear(); }
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  /// The change with this text between these ranges of steps; nullptr where it is not known.
  [[nodiscard]] const RunChange* find(const std::string& text, const TimeRange& before,
                                      const TimeRange& after) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

/// runChanges() in turns: a comparison, or a turn of a findProblemsInTurns(). The changes and their
/// steps are those of the first turn. Takes the changes that are in `known` from there, and puts
/// those in that have become complete; `known` may be nullptr, and must else outlive the turns. If
/// the store gets another run, the check must not go on.
[[nodiscard]] Turns<std::vector<RunChange>> runChangesInTurns(const LiveStore& store,
                                                              std::size_t most,
                                                              KnownRunChanges* known = nullptr);

}  // namespace highwater::analysis
