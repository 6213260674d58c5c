#include <ATen/record_function.h>

#include <map>
#include <set>
#include <type_traits>

#include "probe/observer/module_scope.h"
#include "probe/observer/op_observer.h"
#include "probe/observer/watched_ops.h"
#include "worker/checks/self_test.h"
#include "worker/checks/self_test_tools.h"

namespace highwater::worker {
namespace {

/// Small forward and backward passes on mps.
void train(int times) {
  const at::Tensor weight = at::rand({8, 8}, onMps()).set_requires_grad(true);
  const at::Tensor x = at::rand({8, 8}, onMps());
  for (int i = 0; i < times; ++i) {
    at::relu(at::mm(x, weight)).sum().backward();
  }
  synchronizeMps();
}

std::size_t countNodes(const std::vector<SeenOp>& ops) {
  std::size_t nodes = 0;
  for (const SeenOp& each : ops) nodes += each.isNode ? 1 : 0;
  return nodes;
}

/// Index of the last forward op with the node's thread and sequence number, which created it; -1:
/// none.
int makerOf(const std::vector<SeenOp>& ops, const SeenOp& node) {
  int maker = -1;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const SeenOp& op = ops[i];
    if (!op.isNode && op.sequence == node.sequence && op.thread == node.forwardThread) {
      maker = static_cast<int>(i);
    }
  }
  return maker;
}

CheckResult backwardIsLinked() {
  train(1);
  const auto ops = traceOps([] { train(1); });
  const std::vector<Measure> measures = {{"ops", double(ops.size()), ""},
                                         {"nodes", double(countNodes(ops)), ""}};
  const std::map<std::string, std::string> makers = {
      {"MmBackward0", "aten::mm"}, {"ReluBackward0", "aten::relu"}, {"SumBackward0", "aten::sum"}};
  for (const auto& [node, maker] : makers) {
    int at = findOp(ops, node);
    if (at < 0) {
      at = findOp(ops, "autograd::engine::evaluate_function: " + node);
    }
    if (at < 0) return failed("no node " + node + " is seen", measures);
    const int from = makerOf(ops, ops[static_cast<std::size_t>(at)]);
    if (from < 0) return failed(node + " has a sequence number of no forward op", measures);
    const std::string& found = ops[static_cast<std::size_t>(from)].name;
    if (found != maker) return failed(node + " leads to " + found, measures);
  }
  return passed("a node's forward thread and sequence number lead to the op that created it",
                measures);
}

CheckResult opsInNodesHaveNoNumber() {
  train(1);
  const auto ops = traceOps([] { train(1); });
  std::size_t inside = 0, numbered = 0, accumulating = 0;
  for (const SeenOp& each : ops) {
    if (each.isNode && each.name.find("AccumulateGrad") != std::string::npos) {
      ++accumulating;
      numbered += each.sequence >= 0 ? 1 : 0;
    }
    const bool inNode = each.parent >= 0 && ops[static_cast<std::size_t>(each.parent)].isNode;
    if (each.isNode || !inNode) continue;
    ++inside;
    numbered += each.sequence >= 0 ? 1 : 0;
  }
  const std::vector<Measure> measures = {{"ops in nodes", double(inside), ""},
                                         {"AccumulateGrad", double(accumulating), ""},
                                         {"with a number", double(numbered), ""}};
  if (inside == 0 || accumulating == 0) return failed("no ops in nodes are seen", measures);
  if (numbered > 0) return failed("some have a sequence number", measures);
  return passed("ops in a node, and AccumulateGrad, have no sequence number", measures);
}

CheckResult backwardHasItsThread() {
  const auto ops = traceOps([] { train(1); });
  std::set<std::uint64_t> forward, backward;
  for (const SeenOp& each : ops) (each.isNode ? backward : forward).insert(each.thread);
  const std::uint64_t mine = at::RecordFunction::currentThreadId();
  const std::vector<Measure> measures = {{"threads of nodes", double(backward.size()), ""}};
  if (!forward.contains(mine)) return failed("forward is not seen on its own thread", measures);
  if (backward.empty()) return failed("no node of backward is seen", measures);
  if (backward.contains(mine)) return failed("backward runs on the thread of forward", measures);
  return passed("backward runs on a thread of autograd", measures);
}

CheckResult lateCallbackSeesOldThreads() {
  train(2);  // starts autograd's thread before the callback is installed
  const auto ops = traceOps([] { train(1); });
  const std::vector<Measure> measures = {{"nodes", double(countNodes(ops)), ""}};
  if (countNodes(ops) == 0) return failed("a callback installed later sees no backward", measures);
  return passed("a global callback sees threads older than itself", measures);
}

CheckResult namesNeedTheirText() {
  const auto ops = traceOps([] {
    train(20);
    at::rand({4, 4}, onMps()).sum();
  });
  std::map<std::string, std::set<const void*>> pointers;
  std::map<const void*, std::set<std::string>> texts;
  std::set<const void*> lasting;
  for (const SeenOp& each : ops) {
    pointers[each.name].insert(each.namePointer);
    texts[each.namePointer].insert(each.name);
    if (each.outputs > 0) lasting.insert(each.namePointer);
  }
  std::size_t most = 0, reused = 0;
  for (const auto& [name, at] : pointers) most = std::max(most, at.size());
  for (const auto& [pointer, names] : texts) reused += names.size() > 1 ? 1 : 0;
  const std::vector<Measure> measures = {{"names", double(pointers.size()), ""},
                                         {"most pointers of a name", double(most), ""},
                                         {"pointers with several names", double(reused), ""},
                                         {"lasting pointers", double(lasting.size()), ""}};
  if (lasting.empty()) return failed("no op has the number of results of its schema", measures);
  for (const void* pointer : lasting) {
    if (texts[pointer].size() < 2) continue;
    return failed("the name of " + *texts[pointer].begin() + " does not stay at its address",
                  measures);
  }
  if (most < 2 && reused == 0) {
    return unknown("each name had only one address in this run", measures);
  }
  return passed("a name has several addresses, or an address several names", measures);
}

CheckResult inputsAreSeen() {
  const auto ops = traceOps([] {
    const at::Tensor x = at::rand({4, 4}, onMps());
    at::mm(x, x);
  });
  const int at = findOp(ops, "aten::mm");
  if (at < 0) return failed("aten::mm is not seen: events are lost");
  const double inputs = double(ops[static_cast<std::size_t>(at)].inputs);
  if (inputs < 2) return failed("aten::mm is seen without its inputs", {{"inputs", inputs, ""}});
  return passed("an op is seen with its inputs", {{"inputs", inputs, ""}});
}

/// The scalar reads that the probe recorded: in forward, and on other threads.
struct Reads {
  int forward = 0, backward = 0, ofModule = 0;
};

Reads takeReads(probe::Recorder& recorder, ThreadId forwardThread) {
  Reads reads;
  const auto count = [&](const events::SyncPoint& each) {
    if (each.kind() != events::SyncKind::ScalarRead) return;
    ++(each.thread() == forwardThread ? reads.forward : reads.backward);
    reads.ofModule += each.module_id() != kNoId ? 1 : 0;
  };
  for (const auto& lane : recorder.lanes()) {
    lane->drain([&](const probe::EventRecord& record) {
      record.visit([&](const auto& event) {
        if constexpr (std::is_same_v<decltype(event), const events::SyncPoint&>) count(event);
      });
    });
  }
  return reads;
}

CheckResult watchedOpsAreReached() {
  probe::Recorder recorder(RunClock::startingNow());
  const probe::OpObserver observer(recorder);
  const at::Tensor weight = at::rand({8, 8}, onMps()).set_requires_grad(true);
  at::Tensor product;
  {
    const probe::ModuleScope scope(&recorder, "layer");
    product = at::mm(at::rand({8, 8}, onMps()), weight);
    (void)product.detach().sum().item<float>();
  }
  product.register_hook([](const at::Tensor& gradient) { (void)gradient.sum().item<float>(); });
  product.sum().backward();
  const Reads reads = takeReads(recorder, recorder.lane().id());
  const std::vector<Measure> measures = {{"watched ops", double(probe::WatchedOps::count()), ""},
                                         {"reads in forward", double(reads.forward), ""},
                                         {"reads in backward", double(reads.backward), ""},
                                         {"of their module", double(reads.ofModule), ""}};
  if (reads.forward != 1) return failed("a read in forward is not seen once", measures);
  if (reads.backward != 1) return failed("a read in backward is not seen once", measures);
  if (reads.ofModule != 2) return failed("a read is not attributed to its module", measures);
  return passed("waits in forward and in backward are seen once, in their module", measures);
}

}  // namespace

std::vector<SelfCheck> observerChecks() {
  const auto check = [](const char* id, const char* assumption, const char* reliedOnBy,
                        CheckResult (*run)()) {
    return SelfCheck{id, assumption, reliedOnBy, {}, run, {}};
  };
  return {
      check("op-inputs", "A RecordFunction callback sees each op and its inputs.",
            "probe/op_observer, probe/op_tensors", &inputsAreSeen),
      check("op-names",
            "An op's name may have several addresses, so only its text identifies it; if the op's "
            "schema has results, the name stays at its address.",
            "probe/name_table", &namesNeedTheirText),
      check("backward-link",
            "A node of backward carries the thread and the sequence number of the "
            "forward op that created it.",
            "probe/sequence_modules, probe/op_stack", &backwardIsLinked),
      check("backward-inner",
            "Ops in a node of backward, and AccumulateGrad, have no sequence "
            "number.",
            "probe/sequence_modules", &opsInNodesHaveNoNumber),
      check("backward-thread", "Backward on mps runs on a thread of its own.",
            "probe/thread_lane, views/timeline_lanes", &backwardHasItsThread),
      check("late-callback",
            "A global callback sees autograd's thread even if that started earlier.",
            "probe/op_observer", &lateCallbackSeesOldThreads),
      check("watched-ops",
            "Kernels registered at TESTING_ONLY_GenericMode and BackendSelect are reached by the "
            "ops that wait, also on autograd's thread.",
            "probe/watched_ops, probe/sequence_modules", &watchedOpsAreReached),
  };
}

}  // namespace highwater::worker
