#include "analysis/op_times.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace highwater::analysis {
namespace {

struct Sums {
  std::uint64_t count = 0;
  std::uint64_t inPhases = 0;
  std::int64_t totalNs = 0;
  std::int64_t selfNs = 0;
  std::uint64_t mostGrownBytes = 0;

  void add(const Sums& other) {
    count += other.count;
    inPhases += other.inPhases;
    totalNs += other.totalNs;
    selfNs += other.selfNs;
    mostGrownBytes = std::max(mostGrownBytes, other.mostGrownBytes);
  }
};

OpTime timeOf(const Sums& sums, bool hasPhases) {
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

/// Sums by op and module.
struct Counts {
  std::map<std::pair<NameId, ModuleId>, Sums> sums;
  std::unordered_set<std::uint32_t> steps;

  void add(const LiveStore& store, const events::OpSpan& op) {
    const bool inPhase = op.phase() != events::Phase::None;
    sums[{op.op(), op.module_id()}].add({1, inPhase ? std::uint64_t{1} : 0, op.duration_ns(),
                                         store.ops().selfNs(op), op.grown_bytes()});
    if (op.step() != 0) steps.insert(op.step());
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
      Sums all;
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
    std::map<ModuleId, Sums> modules;
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
  Counts counts;
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
  Counts counts;
  std::size_t nextRow = 0;
  bool partial = false;
};

RunningOpTimes::RunningOpTimes(const LiveStore* store)
    : store_(store), counted_(std::make_unique<Counted>()) {}

RunningOpTimes::~RunningOpTimes() = default;

OpTimes RunningOpTimes::update() {
  const OpColumns& ops = store_->ops();
  std::size_t row = std::max(counted_->nextRow, ops.firstRow);
  counted_->partial = counted_->partial || row > counted_->nextRow;
  for (; row < ops.endRow(); ++row) counted_->counts.add(*store_, *ops.at(row));
  counted_->nextRow = row;
  OpTimes times = counted_->counts.finish(*store_);
  times.partial = counted_->partial;
  return times;
}

void RunningOpTimes::reset() {
  *counted_ = Counted();
}

}  // namespace highwater::analysis
