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

std::vector<Finding> goneFindings(const LiveStore& store, const TimeRange& before,
                                  const TimeRange& after) {
  std::vector<Finding> gone;
  const std::vector<Finding> left = findProblems(store, after).found;
  for (Finding& finding : findProblems(store, before).found) {
    if (!finding.gainMs || finding.withinNoise) continue;
    const bool isLeft = std::any_of(left.begin(), left.end(), [&](const Finding& other) {
      return other.kind == finding.kind && other.ops == finding.ops;
    });
    if (!isLeft) gone.push_back(std::move(finding));
  }
  return gone;
}

}  // namespace

std::vector<RunChange> runChanges(const LiveStore& store, std::size_t most) {
  std::vector<RunChange> changes;
  const std::vector<Steady> parts = steadyPartsOf(store);
  for (std::size_t i = parts.size(); i-- > 1 && changes.size() < most;) {
    if (parts[i].text.empty()) continue;
    const auto [beforeFirst, beforeLast] = counted(parts[i - 1], true);
    const auto [afterFirst, afterLast] = counted(parts[i], false);
    if (beforeLast - beforeFirst < kLeastComparedSteps) continue;
    if (afterLast - afterFirst < kLeastComparedSteps) continue;
    const TimeRange before = rangeOf(store, beforeFirst, beforeLast);
    const TimeRange after = rangeOf(store, afterFirst, afterLast);
    const auto compared = compareRanges(store, before, after);
    if (!compared) continue;
    const auto& durations = store.steps().durationMs;
    changes.push_back({parts[i].text, store.steps().records[parts[i].first].step(),
                       beforeLast - beforeFirst, afterLast - afterFirst,
                       compareSeries(valuesOf(durations, beforeFirst, beforeLast),
                                     valuesOf(durations, afterFirst, afterLast), Statistic::kMean),
                       compared->tokensPerS, compared->driverPeakBytes,
                       haveSameTokens(store, beforeLast - 1, afterFirst), compared->sameLengths,
                       goneFindings(store, before, after)});
  }
  return changes;
}

}  // namespace highwater::analysis
