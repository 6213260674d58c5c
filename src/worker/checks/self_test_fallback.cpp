#include <ATen/core/dispatch/Dispatcher.h>

#include "core/sim_knobs.h"
#include "probe/observer/op_table.h"
#include "worker/checks/self_test.h"
#include "worker/checks/self_test_tools.h"
#include "worker/training/training_errors.h"

namespace highwater::worker {
namespace {

/// An op without an MPS kernel in some releases, and a call of it.
struct Candidate {
  const char* name;
  const char* overload;
  void (*call)();
};

const Candidate kCandidates[] = {
    {"aten::multi_margin_loss", "",
     [] {
       at::multi_margin_loss(at::rand({4, 3}, onMps()), at::zeros({4}, onMps(at::kLong)));
     }},
    {"aten::mode", "", [] { at::mode(at::rand({4}, onMps())); }},
    {"aten::take", "", [] { at::take(at::rand({4}, onMps()), at::zeros({2}, onMps(at::kLong))); }},
    {"aten::poisson", "", [] { at::poisson(at::rand({4}, onMps())); }},
};

/// A candidate without an MPS kernel in this PyTorch, by the dispatcher's table; nullptr: all have
/// one.
const Candidate* opWithoutKernel() {
  probe::OpTable table;
  for (const Candidate& each : kCandidates) {
    if (table.row({each.name, each.overload}) == probe::MpsRow::kFallback) return &each;
  }
  return nullptr;
}

CheckResult noCandidate() {
  return unknown("this PyTorch has MPS kernels for all ops that the check could use");
}

CheckResult missingKernelThrows() {
  const Candidate* op = opWithoutKernel();
  if (!op) return noCandidate();
  try {
    op->call();
    synchronizeMps();
  } catch (const c10::NotImplementedError& error) {
    const std::string said = "\"" + firstLine(error) + "\"";
    const bool known =
        said.find("not currently implemented for the MPS device") != std::string::npos &&
        said.find(op->name) != std::string::npos;
    return known ? passed(said) : failed("another text: " + said);
  } catch (const std::exception& error) {
    return failed("not NotImplementedError: \"" + firstLine(error) + "\"");
  }
  return failed(std::string(op->name) + " ran although fallbacks were not allowed");
}

CheckResult missingKernelMovesToCpu() {
  const Candidate* op = opWithoutKernel();
  if (!op) return noCandidate();
  const auto ops = traceOps([op] {
    op->call();
    synchronizeMps();
  });
  const int children = countChildren(ops, op->name, "aten::_to_cpu");
  const std::vector<Measure> measures = {{"_to_cpu children", double(children), ""}};
  const std::string name = op->name;
  if (findOp(ops, name) < 0) return failed(name + " is not seen by an observer", measures);
  if (children == 0) return failed(name + " shows no direct aten::_to_cpu", measures);
  return passed(name + " shows aten::_to_cpu as its direct child", measures);
}

CheckResult kernelsDoNotMove() {
  const auto ops = traceOps([] {
    const at::Tensor x = at::rand({8, 8}, onMps());
    const at::Tensor y = at::relu(at::mm(x, x).add(x)).softmax(1).sum();
    (void)y.item<float>();
    (void)x.to(at::kCPU);
    at::rand({8, 8}, onMps()).copy_(at::rand({8, 8}));
    (void)x.index({x > 0.5});
  });
  const int at = findOp(ops, "aten::_to_cpu");
  const std::vector<Measure> measures = {{"ops", double(ops.size()), ""}};
  if (ops.size() < 10) return failed("an observer sees too few ops", measures);
  if (at < 0) return passed("kernels, copies and reads show no aten::_to_cpu", measures);
  const int parent = ops[static_cast<std::size_t>(at)].parent;
  return failed("aten::_to_cpu in " + (parent < 0 ? std::string("no op")
                                                  : ops[static_cast<std::size_t>(parent)].name),
                measures);
}

CheckResult renormAlwaysFallsBack() {
  const auto ops = traceOps([] {
    at::Tensor weight = at::ones({8, 4}, onMps());
    const at::Tensor rows = at::zeros({2}, onMps(at::kLong));
    at::embedding_renorm_(weight, rows, 1.0, 2.0);
    synchronizeMps();
  });
  const int children = countChildren(ops, "aten::embedding_renorm_", "aten::_to_cpu");
  const std::vector<Measure> measures = {{"_to_cpu children", double(children), ""}};
  if (children == 0) return failed("it ran without aten::_to_cpu", measures);
  return passed("it fell back although fallbacks were not allowed", measures);
}

CheckResult tableSaysSo() {
  probe::OpTable table;
  const auto is = [&table](const char* name, const char* overload, probe::MpsRow row) {
    return table.row({name, overload}) == row;
  };
  if (!opWithoutKernel()) return noCandidate();
  if (!is("aten::embedding_renorm_", "", probe::MpsRow::kAlwaysFallsBack)) {
    return failed("embedding_renorm_ is not registered to fall back");
  }
  if (!is("aten::mm", "", probe::MpsRow::kKernel) ||
      !is("aten::add", "Tensor", probe::MpsRow::kKernel)) {
    return failed("mm or add has no kernel in the table");
  }
  if (!is("aten::reshape", "", probe::MpsRow::kParts)) {
    return failed("the table does not show that reshape is made of other ops");
  }
  return passed("dumpComputedTable() distinguishes kernels, composed ops and fallbacks");
}

CheckResult float64IsRefused() {
  const at::Tensor wide = at::ones({4}, at::kDouble);
  try {
    (void)wide.to(at::Device(at::kMPS, 0));
    synchronizeMps();
  } catch (const c10::TypeError& error) {
    const std::string said = "\"" + firstLine(error) + "\"";
    return said.find("float64") != std::string::npos ? passed(said)
                                                     : failed("another text: " + said);
  } catch (const std::exception& error) {
    return failed("not TypeError: \"" + firstLine(error) + "\"");
  }
  return failed("a float64 tensor went to mps");
}

const std::string kForbid = kMpsFallbackVariable;
const std::string kAllow = std::string(kMpsFallbackVariable) + "=1";

}  // namespace

std::vector<SelfCheck> fallbackChecks() {
  const std::string byStack = "probe/op_stack (noteFallback)";
  return {
      {"dispatcher-table",
       "The dispatcher's table shows which ops have an MPS kernel.",
       "probe/op_table, worker/dry_check",
       {},
       &tableSaysSo,
       {}},
      {"fallback-refused",
       "Without PYTORCH_ENABLE_MPS_FALLBACK an op without a kernel throws "
       "NotImplementedError.",
       "worker/dry_check",
       {kForbid},
       &missingKernelThrows,
       {}},
      {"fallback-rule",
       "An op that falls back shows aten::_to_cpu as its direct child.",
       byStack,
       {kAllow},
       &missingKernelMovesToCpu,
       {}},
      {"fallback-only",
       "No other op on mps shows aten::_to_cpu.",
       byStack,
       {kAllow},
       &kernelsDoNotMove,
       {}},
      {"fallback-always",
       "embedding_renorm_ falls back even where fallbacks are not allowed.",
       "probe/op_table, resources/scenarios/hidden-fallback.json",
       {kForbid},
       &renormAlwaysFallsBack,
       {}},
      {"float64",
       "A float64 tensor is refused with a TypeError.",
       "worker/dry_check",
       {},
       &float64IsRefused,
       {}},
  };
}

}  // namespace highwater::worker
