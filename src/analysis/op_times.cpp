#include "analysis/op_times.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/totals_tree.h"

namespace highwater::analysis {
namespace {

struct OpSums {
  std::uint64_t count = 0;
  std::uint64_t inPhases = 0;
  std::int64_t totalNs = 0;
  std::int64_t selfNs = 0;
  std::uint64_t mostGrownBytes = 0;

  void add(const OpSums& other) {
    count += other.count;
    inPhases += other.inPhases;
    totalNs += other.totalNs;
    selfNs += other.selfNs;
    mostGrownBytes = std::max(mostGrownBytes, other.mostGrownBytes);
  }
};

OpTime timeOf(const OpSums& sums, bool hasPhases) {
  OpTime time;
  time.count = sums.count;
  time.inSteps = hasPhases ? sums.inPhases : sums.count;
  time.totalNs = sums.totalNs;
  time.selfNs = sums.selfNs;
  time.mostGrownBytes = sums.mostGrownBytes;
  return time;
}

void sortBySelf(std::vector<OpTime>& times) {
  std::stable_sort(times.begin(), times.end(),
                   [](const OpTime& a, const OpTime& b) { return a.selfNs > b.selfNs; });
}

/// A set of step numbers, as ranges of consecutive ones: the ops of a run are of many steps, with
/// few gaps between them.
class StepSet {
 public:
  void add(std::uint32_t step) { add(Range{step, step}); }
  void add(const StepSet& other) {
    for (const Range& range : other.ranges_) add(range);
  }
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t count = 0;
    for (const Range& range : ranges_) count += std::uint64_t{range.last} - range.first + 1;
    return count;
  }

 private:
  struct Range {
    std::uint32_t first = 0, last = 0;
  };

  void add(const Range& added) {
    // The ranges that overlap the added one or adjoin it; nearly always it is near the end.
    auto end = ranges_.end();
    while (end != ranges_.begin() && (end - 1)->first > added.last &&
           (end - 1)->first - added.last > 1) {
      --end;
    }
    auto begin = end;
    Range joined = added;
    while (begin != ranges_.begin() &&
           ((begin - 1)->last >= added.first || added.first - (begin - 1)->last == 1)) {
      --begin;
      joined = {std::min(joined.first, begin->first), std::max(joined.last, begin->last)};
    }
    if (begin == end) {
      ranges_.insert(begin, joined);
    } else {
      *begin = joined;
      ranges_.erase(begin + 1, end);
    }
  }

  std::vector<Range> ranges_;  ///< sorted, none adjoins another
};

/// Sums by op and module.
struct OpCounts {
  KeyedSums<std::pair<NameId, ModuleId>, OpSums> sums;
  StepSet steps;

  void add(const LiveStore& store, const events::OpSpan& op) {
    const bool inPhase = op.phase() != events::Phase::None;
    sums[{op.op(), op.module_id()}].add({1, inPhase ? std::uint64_t{1} : 0, op.duration_ns(),
                                         store.ops().selfNs(op), op.grown_bytes()});
    if (op.step() != 0) steps.add(op.step());
  }
  void add(const OpCounts& other) {
    sums.add(other.sums);
    steps.add(other.steps);
  }

  [[nodiscard]] OpTimes finish(const LiveStore& store) const {
    OpTimes totals;
    totals.steps = steps.size();
    bool hasPhases = false;
    for (const auto& [key, each] : sums) {
      totals.selfNs += each.selfNs;
      hasPhases = hasPhases || each.inPhases > 0;
    }
    totals.byOp = byOp(store, hasPhases);
    totals.byModule = byModule(store, hasPhases);
    return totals;
  }

 private:
  [[nodiscard]] std::vector<OpTime> byOp(const LiveStore& store, bool hasPhases) const {
    std::vector<OpTime> times;
    for (auto at = sums.begin(); at != sums.end();) {
      const NameId op = at->first.first;
      OpSums all;
      auto most = at;
      for (; at != sums.end() && at->first.first == op; ++at) {
        all.add(at->second);
        if (at->second.selfNs > most->second.selfNs) most = at;
      }
      OpTime& time = times.emplace_back(timeOf(all, hasPhases));
      time.op = store.name(op);
      time.module = store.modulePath(most->first.second);
    }
    sortBySelf(times);
    return times;
  }

  [[nodiscard]] std::vector<OpTime> byModule(const LiveStore& store, bool hasPhases) const {
    std::map<ModuleId, OpSums> modules;
    for (const auto& [key, each] : sums) modules[key.second].add(each);
    std::vector<OpTime> times;
    for (const auto& [module, all] : modules) {
      OpTime& time = times.emplace_back(timeOf(all, hasPhases));
      time.totalNs = 0;
      time.module = store.modulePath(module);
    }
    sortBySelf(times);
    return times;
  }
};

}  // namespace

OpTimes opTimesIn(const LiveStore& store, const TimeRange& range) {
  OpCounts counts;
  for (const auto& [key, lane] : store.ops().lanes) {
    const std::size_t last = lane.firstFrom(range.endNs);
    for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
      if (const events::OpSpan* op = store.ops().at(lane[i].payload)) counts.add(store, *op);
    }
  }
  OpTimes times = counts.finish(store);
  times.partial = store.ops().isMissing(range.beginNs, range.endNs);
  return times;
}

struct RunningOpTimes::Counted {
  // Leaves of 4096 ops keep the tree at a tenth of the ops' own memory.
  TotalsTree<OpCounts, 4096> tree;
  OpCounts leaves;      ///< of all ops in the tree
  bool forgot = false;  ///< the store dropped ops before they came into the tree

  [[nodiscard]] bool hasNewLeaf(const LiveStore& store) const {
    return store.ops().endRow() - tree.rows() >= decltype(tree)::kLeafRows;
  }

  /// Moves complete leaves of ops into the tree, at most as many as `most`.
  void grow(const LiveStore& store, std::size_t most = std::numeric_limits<std::size_t>::max()) {
    const OpColumns& ops = store.ops();
    for (std::size_t i = 0; i < most && hasNewLeaf(store); ++i) {
      decltype(tree)::Node leaf;
      const std::size_t first = std::max(tree.rows(), ops.firstRow);
      const std::size_t last = tree.rows() + decltype(tree)::kLeafRows;
      forgot = forgot || first > tree.rows();
      for (std::size_t row = first; row < last; ++row) {
        const events::OpSpan& op = *ops.at(row);
        leaf.totals.add(store, op);
        leaf.reach(op.begin_ns());
      }
      leaf.totals.sums.shrink();
      leaves.add(leaf.totals);
      tree.add(std::move(leaf));
    }
  }
};

RunningOpTimes::RunningOpTimes(const LiveStore* store)
    : store_(store), counted_(std::make_unique<Counted>()) {}

RunningOpTimes::~RunningOpTimes() = default;

bool RunningOpTimes::countSome() {
  constexpr std::size_t kLeaves = 8;
  counted_->grow(*store_, kLeaves);
  return counted_->hasNewLeaf(*store_);
}

OpTimes RunningOpTimes::update() {
  counted_->grow(*store_);
  const OpColumns& ops = store_->ops();
  OpCounts counts = counted_->leaves;
  const std::size_t first = std::max(counted_->tree.rows(), ops.firstRow);
  for (std::size_t row = first; row < ops.endRow(); ++row) counts.add(*store_, *ops.at(row));
  OpTimes times = counts.finish(*store_);
  times.partial = counted_->forgot || first > counted_->tree.rows();
  return times;
}

OpTimes RunningOpTimes::in(const TimeRange& range) {
  counted_->grow(*store_);
  const OpColumns& ops = store_->ops();
  // Ops that were read back are not in the tree.
  const bool wasReadBack =
      range.beginNs < ops.forgottenUpToNs && !ops.isMissing(range.beginNs, range.endNs);
  if (wasReadBack) return opTimesIn(*store_, range);
  OpCounts counts;
  const auto addRows = [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      const events::OpSpan& op = *ops.at(row);
      if (op.begin_ns() >= range.beginNs && op.begin_ns() < range.endNs) counts.add(*store_, op);
    }
  };
  counted_->tree.query(
      range, ops.firstRow, [&](const OpCounts& whole) { counts.add(whole); }, addRows);
  addRows(std::max(counted_->tree.rows(), ops.firstRow), ops.endRow());
  OpTimes times = counts.finish(*store_);
  times.partial = ops.isMissing(range.beginNs, range.endNs);
  return times;
}

void RunningOpTimes::reset() {
  *counted_ = Counted();
}

}  // namespace highwater::analysis
