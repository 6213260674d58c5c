#include <ATen/record_function.h>

#include <map>
#include <set>

#include "worker/self_test.h"
#include "worker/self_test_tools.h"

namespace highwater::worker {
namespace {

/// A small forward and backward on mps.
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

/// The forward op that made the node, by thread and number; the last one counts. -1: none.
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
    if (from < 0) return failed(node + " has the number of no op of forward", measures);
    const std::string& found = ops[static_cast<std::size_t>(from)].name;
    if (found != maker) return failed(node + " leads to " + found, measures);
  }
  return passed("a node's forward thread and number lead to the op that made it", measures);
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
  if (numbered > 0) return failed("some have a number of their own", measures);
  return passed("ops in a node, and AccumulateGrad, have none", measures);
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
  return passed("backward runs on a thread of autograd's", measures);
}

CheckResult lateCallbackSeesOldThreads() {
  train(2);  // autograd's thread is there before anybody observes
  const auto ops = traceOps([] { train(1); });
  const std::vector<Measure> measures = {{"nodes", double(countNodes(ops)), ""}};
  if (countNodes(ops) == 0) return failed("a callback that comes late sees no backward", measures);
  return passed("a global callback sees threads that are older than it", measures);
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
  if (lasting.empty()) return failed("no op says how many results its schema has", measures);
  for (const void* pointer : lasting) {
    if (texts[pointer].size() < 2) continue;
    return failed("the name of " + *texts[pointer].begin() + " is not for ever at its address",
                  measures);
  }
  if (most < 2 && reused == 0) {
    return unknown("each name had one pointer here; by its text it is the same one", measures);
  }
  return passed("a name comes at several addresses, or an address with several names", measures);
}

CheckResult inputsAreSeen() {
  const auto ops = traceOps([] {
    const at::Tensor x = at::rand({4, 4}, onMps());
    at::mm(x, x);
  });
  const int at = findOp(ops, "aten::mm");
  if (at < 0) return failed("aten::mm is not seen: events vanish");
  const double inputs = double(ops[static_cast<std::size_t>(at)].inputs);
  if (inputs < 2) return failed("aten::mm is seen without its inputs", {{"inputs", inputs, ""}});
  return passed("an op is seen with its inputs", {{"inputs", inputs, ""}});
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
            "An op's name comes at several addresses, and only its text tells; where the op has a "
            "schema with results, the text stays at its address.",
            "probe/name_table", &namesNeedTheirText),
      check("backward-link",
            "A node of backward carries the thread and the sequence number of the "
            "forward op that made it.",
            "probe/sequence_modules, probe/op_stack", &backwardIsLinked),
      check("backward-inner",
            "Ops in a node of backward, and AccumulateGrad, have no sequence "
            "number.",
            "probe/op_stack (enterModule)", &opsInNodesHaveNoNumber),
      check("backward-thread", "Backward runs on a thread of its own for mps.",
            "probe/thread_lane, views/timeline_lanes", &backwardHasItsThread),
      check("late-callback", "A global callback sees autograd's thread even if that began before.",
            "probe/op_observer", &lateCallbackSeesOldThreads),
  };
}

}  // namespace highwater::worker
