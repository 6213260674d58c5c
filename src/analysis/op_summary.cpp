#include "analysis/op_summary.h"

#include <algorithm>
#include <deque>
#include <map>
#include <ranges>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/names.h"

namespace highwater::analysis {
namespace {

using events::OpSpan;

std::int64_t endOf(const OpSpan& op) {
  return op.begin_ns() + op.duration_ns();
}

/// The steps whose ops are counted, and these ops.
class CountedSteps {
 public:
  CountedSteps(const LiveStore& store, std::size_t most)
      : records_(store.steps().records),
        ops_(store.ops().records.begin(), store.ops().records.end()),
        wholeFromNs_(store.ops().forgottenUpToNs) {
    if (most < ops_.size()) {
      wholeFromNs_ = std::max(wholeFromNs_, endOf(ops_[ops_.size() - most - 1]));
      ops_.advance(static_cast<std::ptrdiff_t>(ops_.size() - most));
    }
    std::set<std::uint32_t> seen;
    for (const OpSpan& op : ops_) {
      if (find(op)) seen.insert(op.step());
    }
    leftOut_ = seen.size() > 1 && *seen.begin() == records_.front().step() ? *seen.begin() : 0;
    count_ = seen.size() - (leftOut_ != 0 ? 1 : 0);
  }

  [[nodiscard]] bool hold(const OpSpan& op) const { return op.step() != leftOut_ && find(op); }
  [[nodiscard]] bool hold(std::uint32_t step) const { return step != leftOut_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Includes ops that lie in no counted step.
  [[nodiscard]] auto ops() const { return ops_; }

 private:
  [[nodiscard]] bool find(const OpSpan& op) const {
    const auto found = std::partition_point(
        records_.begin(), records_.end(),
        [&op](const events::StepRecord& record) { return record.step() < op.step(); });
    return found != records_.end() && found->step() == op.step() &&
           found->begin_ns() >= wholeFromNs_ && op.begin_ns() >= found->begin_ns() &&
           op.begin_ns() < found->begin_ns() + found->duration_ns();
  }

  const std::vector<events::StepRecord>& records_;
  std::ranges::subrange<std::deque<OpSpan>::const_iterator> ops_;
  std::int64_t wholeFromNs_ = 0;
  std::uint32_t leftOut_ = 0;
  std::uint64_t count_ = 0;
};

/// Current allocated at the end of an op or of a phase.
struct Reading {
  std::int64_t timeNs = 0;
  std::int64_t bytes = 0;
  const OpSpan* op = nullptr;  ///< nullptr: the end of `phase`
  events::Phase phase = events::Phase::None;
  std::uint32_t step = 0;
};

std::vector<Reading> readingsOf(const LiveStore& store, const CountedSteps& counted) {
  std::vector<Reading> readings;
  std::set<std::uint32_t> steps;
  for (const OpSpan& op : counted.ops()) {
    if (op.current_bytes() < 0 || !counted.hold(op)) continue;
    readings.push_back({endOf(op), op.current_bytes(), &op, op.phase(), op.step()});
    steps.insert(op.step());
  }
  for (const events::PhaseMemory& each : store.phaseMemory()) {
    if (!steps.contains(each.step())) continue;
    readings.push_back({each.time_ns(), static_cast<std::int64_t>(each.current_bytes()), nullptr,
                        each.phase(), each.step()});
  }
  // If several end at the same time, the innermost op ended first and the phase last.
  const auto depth = [](const Reading& each) { return each.op ? int{each.op->depth()} : -1; };
  std::stable_sort(readings.begin(), readings.end(), [&](const Reading& a, const Reading& b) {
    return a.timeNs != b.timeNs ? a.timeNs < b.timeNs : depth(a) > depth(b);
  });
  return readings;
}

struct Net {
  std::unordered_map<ModuleId, NetBytes> byModule;
  std::map<events::Phase, PhaseNet> byPhase;
};

Net netOf(const std::vector<Reading>& readings) {
  Net net;
  const OpSpan* before = nullptr;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading& now = readings[i];
    const bool sameStep = i > 0 && readings[i - 1].step == now.step;
    const std::int64_t change = sameStep ? now.bytes - readings[i - 1].bytes : 0;
    if (!sameStep) before = nullptr;
    PhaseNet& phase = net.byPhase[now.phase];
    (now.op ? phase.inOps : phase.outsideOps) += change;
    const OpSpan* whose = change < 0 ? before : now.op;
    if (whose && now.op) {
      NetBytes& module = net.byModule[whose->module_id()];
      (whose->backward() != 0 ? module.backward : module.forward) += change;
    }
    if (now.op) before = now.op;
  }
  return net;
}

/// Finds the tensors that ops allocated: growth of current allocated in an op but not in its nested
/// ops.
class Tensors {
 public:
  /// Takes ops in the order in which they ended on their thread.
  void add(const OpSpan& op) {
    std::vector<Made>& made = byThread_[op.thread()];
    const auto inside = std::stable_partition(made.begin(), made.end(), [&op](const Made& each) {
      return each.op->begin_ns() < op.begin_ns();
    });
    std::uint64_t insideBytes = 0;
    for (auto each = inside; each != made.end(); ++each) insideBytes += each->bytes;
    if (made.end() - inside == 1 && insideBytes == op.grown_bytes()) {
      inside->op = &op;  // name the op that the user called, not the nested one that allocates
    } else if (op.grown_bytes() > insideBytes) {
      made.push_back({&op, op.grown_bytes() - insideBytes});
    }
    if (op.depth() == 0) {
      for (const Made& each : made) keep(each);
      made.clear();
    }
  }

  [[nodiscard]] std::vector<LargeTensor> largest(const LiveStore& store) const {
    std::vector<Made> sorted;
    for (const auto& [key, made] : kept_) sorted.push_back(made);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Made& a, const Made& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.op->begin_ns() < b.op->begin_ns();
    });
    sorted.resize(std::min(sorted.size(), kMostLargeTensors));
    std::vector<LargeTensor> tensors;
    for (const auto& [op, bytes] : sorted) {
      tensors.push_back({bytes, store.name(op->op()), store.name(op->shapes()),
                         store.modulePath(op->module_id()), op->backward() != 0, op->step()});
    }
    return tensors;
  }

 private:
  struct Made {
    const OpSpan* op = nullptr;
    std::uint64_t bytes = 0;
  };

  void keep(const Made& made) {
    const OpSpan& op = *made.op;
    const auto [found, isNew] =
        kept_.try_emplace({op.module_id(), op.op(), op.shapes(), op.backward()}, made);
    if (!isNew && made.bytes > found->second.bytes) found->second = made;
  }

  /// Tensors of ops whose outermost op has not ended yet.
  std::unordered_map<ThreadId, std::vector<Made>> byThread_;
  std::map<std::tuple<ModuleId, NameId, NameId, std::uint8_t>, Made> kept_;
};

template <typename Share>
void sortBySelfTime(std::vector<Share>& shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.selfNs > b.selfNs; });
}

}  // namespace

OpSummary summarizeOps(const LiveStore& store, std::size_t most) {
  OpSummary summary;
  if (store.ops().records.empty() || store.steps().records.empty()) return summary;
  const CountedSteps counted(store, most);
  summary.steps = counted.count();
  summary.forgotten = store.ops().firstRow;
  Net net = netOf(readingsOf(store, counted));
  Tensors tensors;
  std::map<NameId, OpShare> byOp;
  std::map<ModuleId, ModuleShare> byModule;
  for (const OpSpan& op : counted.ops()) {
    if (!counted.hold(op)) continue;
    const std::int64_t selfNs = store.ops().selfNs(op);
    tensors.add(op);
    ++summary.ops;
    OpShare& share = byOp[op.op()];
    ++share.count;
    share.selfNs += selfNs;
    ModuleShare& module = byModule[op.module_id()];
    ++module.count;
    module.selfNs += selfNs;
    if (op.backward() != 0) module.backwardSelfNs += selfNs;
  }
  for (auto& [id, share] : byOp) {
    share.op = store.name(id);
    summary.byOp.push_back(std::move(share));
  }
  for (auto& [id, share] : byModule) {
    share.module = store.modulePath(id);
    share.net = net.byModule[id];
    summary.byModule.push_back(std::move(share));
  }
  sortBySelfTime(summary.byOp);
  sortBySelfTime(summary.byModule);
  for (auto& [phase, each] : net.byPhase) {
    each.phase = phase;
    summary.byPhase.push_back(each);
  }
  summary.largest = tensors.largest(store);
  return summary;
}

}  // namespace highwater::analysis
