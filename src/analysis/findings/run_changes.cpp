#include "analysis/findings/run_changes.h"

#include <algorithm>

#include "analysis/settings_change.h"

namespace highwater::analysis {
namespace {

/// Rows of steps with the same settings: [first, last).
struct Steady {
  std::size_t first = 0, last = 0;
  std::string text;  ///< the change that they begin with; empty if that is of the level only
};

std::vector<Steady> steadyPartsOf(const LiveStore& store) {
  const auto& records = store.steps().records;
  std::vector<Steady> all{{0, records.size(), {}}};
  for (const SettingsChange& change : settingsChanges(store)) {
    const auto found = std::partition_point(
        records.begin(), records.end(),
        [&](const events::StepRecord& step) { return step.begin_ns() < change.timeNs; });
    const auto row = static_cast<std::size_t>(found - records.begin());
    if (row > all.back().first) {
      all.back().last = row;
      all.push_back({row, records.size(), {}});
    }
    std::string& text = all.back().text;
    if (!change.isLevel) text += (text.empty() ? "" : ", ") + change.text;
  }
  return all;
}

/// The rows of a part that count: all but its first.
std::pair<std::size_t, std::size_t> counted(const Steady& part, bool nearestToEnd) {
  std::size_t first = std::min(part.first + 1, part.last), last = part.last;
  if (last - first > kMostComparedSteps) {
    nearestToEnd ? first = last - kMostComparedSteps : last = first + kMostComparedSteps;
  }
  return {first, last};
}

TimeRange rangeOf(const LiveStore& store, std::size_t first, std::size_t last) {
  const auto& records = store.steps().records;
  const events::StepRecord& end = records[last - 1];
  return {records[first].begin_ns(), end.begin_ns() + end.duration_ns()};
}

std::vector<double> valuesOf(const SeriesPyramid& series, std::size_t first, std::size_t last) {
  std::vector<double> values;
  for (std::size_t row = first; row < last; ++row) values.push_back(series[row]);
  return values;
}

bool haveSameTokens(const LiveStore& store, std::size_t a, std::size_t b) {
  return store.steps().records[a].tokens() == store.steps().records[b].tokens();
}

/// How many steps must follow a range until nothing of it can come any more, as the device's span
/// of a step does, after the step.
constexpr std::size_t kStepsUntilComplete = 8;

/// The findings of the steps before a change that those after it do not have.
std::vector<Finding> goneFindings(const Findings& before, const Findings& after) {
  std::vector<Finding> gone;
  for (const Finding& finding : before.found) {
    if (!finding.gainMs || finding.withinNoise) continue;
    const bool isLeft =
        std::any_of(after.found.begin(), after.found.end(), [&](const Finding& other) {
          return other.kind == finding.kind && other.ops == finding.ops;
        });
    if (!isLeft) gone.push_back(finding);
  }
  return gone;
}

/// A change that has enough steps on both sides.
struct Candidate {
  std::string text;
  std::size_t firstRow = 0;
  std::size_t beforeFirst = 0, beforeLast = 0, afterFirst = 0, afterLast = 0;  ///< rows
  TimeRange before, after;
};

bool areSame(const TimeRange& a, const TimeRange& b) {
  return a.beginNs == b.beginNs && a.endNs == b.endNs;
}

/// The newest first.
std::vector<Candidate> candidatesOf(const LiveStore& store) {
  std::vector<Candidate> found;
  const std::vector<Steady> parts = steadyPartsOf(store);
  for (std::size_t i = parts.size(); i-- > 1;) {
    if (parts[i].text.empty()) continue;
    const auto [beforeFirst, beforeLast] = counted(parts[i - 1], true);
    const auto [afterFirst, afterLast] = counted(parts[i], false);
    if (beforeLast - beforeFirst < kLeastComparedSteps) continue;
    if (afterLast - afterFirst < kLeastComparedSteps) continue;
    // The result of a try says what its many changes have in common.
    const auto& records = store.steps().records;
    if (store.isTried(records[beforeLast - 1].step()) ||
        store.isTried(records[afterFirst].step())) {
      continue;
    }
    found.push_back({parts[i].text, parts[i].first, beforeFirst, beforeLast, afterFirst, afterLast,
                     rangeOf(store, beforeFirst, beforeLast),
                     rangeOf(store, afterFirst, afterLast)});
  }
  return found;
}

/// What the steps around a change took, without `gone`. Empty where they cannot be compared.
std::optional<RunChange> compareAround(const LiveStore& store, const Candidate& change) {
  const auto compared = compareRanges(store, change.before, change.after);
  if (!compared) return std::nullopt;
  const auto& durations = store.steps().durationMs;
  return RunChange{
      change.text,
      store.steps().records[change.firstRow].step(),
      change.beforeLast - change.beforeFirst,
      change.afterLast - change.afterFirst,
      compareSeries(valuesOf(durations, change.beforeFirst, change.beforeLast),
                    valuesOf(durations, change.afterFirst, change.afterLast), Statistic::kMean),
      compared->rate() ? compared->rate()->value : ComparedValue(),
      std::string(store.rateUnit()),
      compared->of("memory.driver_peak"),
      haveSameTokens(store, change.beforeLast - 1, change.afterFirst),
      {}};
}

}  // namespace

const RunChange* KnownRunChanges::find(const std::string& text, const TimeRange& before,
                                       const TimeRange& after) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return areSame(each.before, before) && areSame(each.after, after) && each.change.text == text;
  });
  return found == entries_.end() ? nullptr : &found->change;
}

Turns<std::vector<RunChange>> runChangesInTurns(const LiveStore& store, std::size_t most,
                                                KnownRunChanges* known) {
  std::vector<RunChange> changes;
  const std::vector<Candidate> candidates = candidatesOf(store);
  for (const Candidate& each : candidates) {
    if (changes.size() == most) break;
    co_await NextTurn{};
    if (const RunChange* change =
            known ? known->find(each.text, each.before, each.after) : nullptr) {
      changes.push_back(*change);
      continue;
    }
    auto change = compareAround(store, each);
    if (!change) continue;
    co_await NextTurn{};
    const Findings after = co_await findProblemsInTurns(store, each.after);
    const Findings before = co_await findProblemsInTurns(store, each.before);
    change->gone = goneFindings(before, after);
    changes.push_back(*change);
    const bool isComplete = store.steps().records.size() >= each.afterLast + kStepsUntilComplete &&
                            store.completeUpToNs() >= each.after.endNs;
    if (known && (isComplete || store.end())) known->add({each.before, each.after, *change});
  }
  co_return changes;
}

std::vector<RunChange> runChanges(const LiveStore& store, std::size_t most) {
  return runChangesInTurns(store, most).finish();
}

}  // namespace highwater::analysis
