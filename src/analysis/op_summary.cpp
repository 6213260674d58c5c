#include "analysis/op_summary.h"

#include <algorithm>
#include <map>
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

/// The steps whose ops are counted.
class CountedSteps {
 public:
  explicit CountedSteps(const LiveStore& store) : records_(store.steps().records) {
    std::set<std::uint32_t> seen;
    for (const OpSpan& op : store.ops().records) {
      if (find(op)) seen.insert(op.step());
    }
    leftOut_ = seen.size() > 1 && *seen.begin() == records_.front().step() ? *seen.begin() : 0;
    count_ = seen.size() - (leftOut_ != 0 ? 1 : 0);
  }

  [[nodiscard]] bool hold(const OpSpan& op) const { return op.step() != leftOut_ && find(op); }
  [[nodiscard]] bool hold(std::uint32_t step) const { return step != leftOut_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  [[nodiscard]] bool find(const OpSpan& op) const {
    const auto found = std::partition_point(
        records_.begin(), records_.end(),
        [&op](const events::StepRecord& record) { return record.step() < op.step(); });
    return found != records_.end() && found->step() == op.step() &&
           op.begin_ns() >= found->begin_ns() &&
           op.begin_ns() < found->begin_ns() + found->duration_ns();
  }

  const std::vector<events::StepRecord>& records_;
  std::uint32_t leftOut_ = 0;
  std::uint64_t count_ = 0;
};

/// Self times, from ops in the order in which they ended on their thread.
class SelfTimes {
 public:
  [[nodiscard]] std::int64_t add(const OpSpan& op) {
    std::vector<const OpSpan*>& ended = byThread_[op.thread()];
    std::int64_t insideNs = 0;
    for (; !ended.empty() && ended.back()->depth() > op.depth(); ended.pop_back()) {
      const OpSpan& each = *ended.back();
      // Where an op was lost, the ones within it are left over: they began before this one.
      const bool within = each.begin_ns() >= op.begin_ns();
      if (within && each.depth() == op.depth() + 1) insideNs += each.duration_ns();
    }
    if (op.depth() == 0) {
      ended.clear();
    } else {
      ended.push_back(&op);
    }
    return std::max<std::int64_t>(op.duration_ns() - insideNs, 0);
  }

 private:
  /// Those whose parent has not ended.
  std::unordered_map<ThreadId, std::vector<const OpSpan*>> byThread_;
};

/// Current allocated at one moment, and who saw it: an op's end, or a phase's.
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
  for (const OpSpan& op : store.ops().records) {
    if (op.current_bytes() < 0 || !counted.hold(op)) continue;
    readings.push_back({endOf(op), op.current_bytes(), &op, op.phase(), op.step()});
    steps.insert(op.step());
  }
  for (const events::PhaseMemory& each : store.phaseMemory()) {
    if (!steps.contains(each.step())) continue;
    readings.push_back({each.time_ns(), static_cast<std::int64_t>(each.current_bytes()), nullptr,
                        each.phase(), each.step()});
  }
  // Of what ends together the inner op ended first, the phase last.
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

/// Finds the tensors that ops allocated.
class Tensors {
 public:
  explicit Tensors(const std::vector<Reading>& readings) : readings_(readings) {}

  /// In the order in which the ops ended on their thread.
  void add(const OpSpan& op) {
    auto& inside = byThread_[op.thread()];
    if (allocated(op)) {
      std::erase_if(inside, [&op](const OpSpan* each) {
        return each->begin_ns() >= op.begin_ns() && each->output_bytes() == op.output_bytes();
      });
      inside.push_back(&op);
    }
    if (op.depth() == 0) {
      for (const OpSpan* each : inside) keep(*each);
      inside.clear();
    }
  }

  [[nodiscard]] std::vector<LargeTensor> largest(const LiveStore& store) const {
    std::vector<std::pair<std::uint64_t, const OpSpan*>> sorted;
    for (const auto& [key, op] : kept_) sorted.emplace_back(op->output_bytes(), op);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second->begin_ns() < b.second->begin_ns();
    });
    sorted.resize(std::min(sorted.size(), kMostLargeTensors));
    std::vector<LargeTensor> tensors;
    for (const auto& [bytes, op] : sorted) {
      tensors.push_back({bytes, store.name(op->op()), store.name(op->shapes()),
                         store.modulePath(op->module_id()), op->backward() != 0, op->step()});
    }
    return tensors;
  }

 private:
  [[nodiscard]] bool allocated(const OpSpan& op) const {
    if (op.output_bytes() == 0 || op.current_bytes() < 0) return false;
    const auto after =
        std::upper_bound(readings_.begin(), readings_.end(), op.begin_ns(),
                         [](std::int64_t ns, const Reading& each) { return ns < each.timeNs; });
    if (after == readings_.begin()) return false;
    const std::int64_t grownBy = op.current_bytes() - std::prev(after)->bytes;
    return grownBy > 0 && static_cast<std::uint64_t>(grownBy) >= op.output_bytes();
  }

  void keep(const OpSpan& op) {
    const auto [found, isNew] =
        kept_.try_emplace({op.module_id(), op.op(), op.shapes(), op.backward()}, &op);
    if (!isNew && op.output_bytes() > found->second->output_bytes()) found->second = &op;
  }

  const std::vector<Reading>& readings_;
  std::unordered_map<ThreadId, std::vector<const OpSpan*>> byThread_;
  std::map<std::tuple<ModuleId, NameId, NameId, std::uint8_t>, const OpSpan*> kept_;
};

template <typename Share>
void sortBySelfTime(std::vector<Share>& shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.selfNs > b.selfNs; });
}

}  // namespace

OpSummary summarizeOps(const LiveStore& store) {
  OpSummary summary;
  if (store.ops().records.empty() || store.steps().records.empty()) return summary;
  const CountedSteps counted(store);
  summary.steps = counted.count();
  const std::vector<Reading> readings = readingsOf(store, counted);
  Net net = netOf(readings);
  SelfTimes selfTimes;
  Tensors tensors(readings);
  std::map<NameId, OpShare> byOp;
  std::map<ModuleId, ModuleShare> byModule;
  for (const OpSpan& op : store.ops().records) {
    const std::int64_t selfNs = selfTimes.add(op);
    if (!counted.hold(op)) continue;
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
