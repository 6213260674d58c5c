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
    found.push_back({parts[i].text, parts[i].first, beforeFirst, beforeLast, afterFirst, afterLast,
                     rangeOf(store, beforeFirst, beforeLast),
                     rangeOf(store, afterFirst, afterLast)});
  }
  return found;
}

}  // namespace

struct RunChangesCheck::Parts {
  const LiveStore& store;
  std::size_t most;
  KnownRunChanges* known;
  std::vector<Candidate> candidates;
  std::size_t next = 0;
  std::vector<RunChange> changes = {};
  std::unique_ptr<FindingsCheck> before = {},
                                 after = {};  ///< of the last one in `changes`, while it is made

  [[nodiscard]] bool isDone() const {
    return !after && (next == candidates.size() || changes.size() == most);
  }

  [[nodiscard]] const KnownRunChanges::Entry* find(const Candidate& change) const {
    if (!known) return nullptr;
    const auto same = [&](const KnownRunChanges::Entry& each) {
      return areSame(each.before, change.before) && areSame(each.after, change.after) &&
             each.change.text == change.text;
    };
    const auto found = std::find_if(known->entries_.begin(), known->entries_.end(), same);
    return found == known->entries_.end() ? nullptr : &*found;
  }

  void compare() {
    const Candidate& each = candidates[next++];
    if (const auto* entry = find(each)) {
      changes.push_back(entry->change);
      return;
    }
    const auto compared = compareRanges(store, each.before, each.after);
    if (!compared) return;
    const auto& durations = store.steps().durationMs;
    changes.push_back(
        {each.text,
         store.steps().records[each.firstRow].step(),
         each.beforeLast - each.beforeFirst,
         each.afterLast - each.afterFirst,
         compareSeries(valuesOf(durations, each.beforeFirst, each.beforeLast),
                       valuesOf(durations, each.afterFirst, each.afterLast), Statistic::kMean),
         compared->tokensPerS,
         compared->rateUnit,
         compared->driverPeakBytes,
         haveSameTokens(store, each.beforeLast - 1, each.afterFirst),
         {}});
    before = std::make_unique<FindingsCheck>(store, each.before);
    after = std::make_unique<FindingsCheck>(store, each.after);
  }

  void complete() {
    changes.back().gone = goneFindings(before->findings(), after->findings());
    before.reset();
    after.reset();
    const Candidate& each = candidates[next - 1];
    const bool isComplete = store.steps().records.size() >= each.afterLast + kStepsUntilComplete &&
                            store.completeUpToNs() >= each.after.endNs;
    if (known && (isComplete || store.end())) {
      known->entries_.push_back({each.before, each.after, changes.back()});
    }
  }
};

RunChangesCheck::RunChangesCheck(const LiveStore& store, std::size_t most, KnownRunChanges* known)
    : parts_(std::make_unique<Parts>(Parts{store, most, known, candidatesOf(store)})) {}

RunChangesCheck::~RunChangesCheck() = default;

bool RunChangesCheck::isDone() const {
  return parts_->isDone();
}

void RunChangesCheck::advance() {
  if (isDone()) return;
  if (!parts_->after) {
    parts_->compare();
  } else if (!parts_->after->isDone()) {
    parts_->after->advance();
  } else if (!parts_->before->isDone()) {
    parts_->before->advance();
  } else {
    parts_->complete();
  }
}

const std::vector<RunChange>& RunChangesCheck::changes() const {
  return parts_->changes;
}

std::vector<RunChange> runChanges(const LiveStore& store, std::size_t most) {
  RunChangesCheck check(store, most);
  while (!check.isDone()) check.advance();
  return check.changes();
}

}  // namespace highwater::analysis
