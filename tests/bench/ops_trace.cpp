// Compares the times of an op-level recording with kineto's own trace of the same 20 steps of the
// classifier, in one process. The median difference over the calls of an op, by name, may be 5 %
// for ops of 20 us and more, and 0.5 us × (1 + children) for shorter ones. A sample is one
// recording; the farthest op is the one with the largest median over the recordings.
// The observers' own work is part of the difference: the probe's span contains kineto's begin
// callback, and kineto's span the probe's end callback.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench/both_observers.h"
#include "bench/findings.h"
#include "bench/program.h"
#include "process/device.h"
#include "worker/options.h"

namespace {

using namespace highwater;

struct Choices {
  std::string device = "sim";
  int recordings = 10;
  int steps = 20;
  int threads = 1;
  std::string json = "ops_trace.json";
};

constexpr bench::BatchShape kShape{16, 64};
constexpr int kWarmUpSteps = 5;
constexpr int kListed = 8;

/// One value of each recording for one op.
struct OpDistances {
  std::vector<double> excess, probeNs, kinetoNs, children, apartNs, beginApartNs;

  void add(const bench::OpMedians& op) {
    excess.push_back(op.excess());
    probeNs.push_back(op.probeNs);
    kinetoNs.push_back(op.kinetoNs);
    children.push_back(op.children);
    apartNs.push_back(op.apartNs);
    beginApartNs.push_back(op.beginApartNs);
  }
};

double medianOf(std::vector<double> values) {
  return bench::medianOf(values);
}

/// An op with its medians over the recordings.
struct Op {
  bench::OpMedians medians;
  double excess = 0;
  std::vector<double> excesses;
};

class Distances {
 public:
  void add(const bench::BothTraces& traces) {
    auto medians = bench::mediansByName(traces.probe, traces.kineto);
    // The two clocks have different epochs: the median op gives the offset.
    std::vector<double> begins;
    for (const bench::OpMedians& op : medians) begins.push_back(op.beginApartNs);
    const double usual = medianOf(begins);
    for (bench::OpMedians& op : medians) {
      op.beginApartNs -= usual;
      byName_[op.name].add(op);
    }
  }

  /// Farthest first.
  [[nodiscard]] std::vector<Op> ops() const {
    std::vector<Op> ops;
    for (const auto& [name, each] : byName_) {
      ops.push_back({{name, each.excess.size(), medianOf(each.probeNs), medianOf(each.kinetoNs),
                      medianOf(each.children), medianOf(each.apartNs), medianOf(each.beginApartNs)},
                     medianOf(each.excess),
                     each.excess});
    }
    std::sort(ops.begin(), ops.end(),
              [](const Op& a, const Op& b) { return std::fabs(a.excess) > std::fabs(b.excess); });
    return ops;
  }

 private:
  std::map<std::string, OpDistances> byName_;
};

void print(const std::vector<Op>& ops) {
  std::printf("the farthest apart of %zu ops; us, the last column: more than usual at the begin\n",
              ops.size());
  for (std::size_t i = 0; i < ops.size() && i < kListed; ++i) {
    const bench::OpMedians& op = ops[i].medians;
    std::printf("  %-56s probe %8.2f  kineto %8.2f  apart %6.2f  bound %5.2f  begin %6.2f\n",
                op.name.c_str(), op.probeNs / 1e3, op.kinetoNs / 1e3, op.apartNs / 1e3,
                op.boundNs() / 1e3, op.beginApartNs / 1e3);
  }
}

/// Distance over bound of the farthest op of that length.
bench::Finding farthest(const std::vector<Op>& ops, bool isLong, const std::string& setting) {
  const char* name = isLong ? "long_op_farthest" : "short_op_farthest";
  const auto found = std::find_if(ops.begin(), ops.end(),
                                  [isLong](const Op& op) { return op.medians.isLong() == isLong; });
  std::vector<double> values;
  if (found != ops.end()) values = found->excesses;
  for (double& value : values) value = found->excess < 0 ? -value : value;
  return {name, setting, "× bound", bench::estimate(values), 1.0};
}

bench::Finding share(const std::vector<Op>& ops, const std::string& setting) {
  const auto within =
      std::count_if(ops.begin(), ops.end(), [](const Op& op) { return std::fabs(op.excess) <= 1; });
  const double percent = 100.0 * static_cast<double>(within) / static_cast<double>(ops.size());
  return {"ops_within", setting, "%", {percent, percent, percent, ops.size()}, {}};
}

/// The difference of the durations in an op without children: the observers' own work.
bench::Finding leaves(const std::vector<Op>& ops, const std::string& setting) {
  std::vector<double> ns;
  for (const Op& op : ops) {
    if (op.medians.children == 0) ns.push_back(op.medians.apartNs);
  }
  return {"leaf_op_probe_less_kineto", setting, "ns", bench::estimate(ns), {}};
}

/// kFailed if the traces cannot be compared.
Result<std::vector<Op>> compare(const Choices& choices, const DeviceReport& device,
                                const worker::ModelSize& size) {
  bench::ClassifierStep step(size, kShape, bench::torchDevice(device));
  (void)bench::recordWithBoth(step, device, kWarmUpSteps);
  Distances distances;
  for (int i = 0; i < choices.recordings; ++i) {
    const bench::BothTraces traces = bench::recordWithBoth(step, device, choices.steps);
    if (!traces.problem.empty()) return Error{ErrorCode::kFailed, traces.problem};
    const std::string difference = firstDifference(traces);
    if (!difference.empty()) return Error{ErrorCode::kFailed, difference};
    distances.add(traces);
  }
  return distances.ops();
}

int run(const Choices& choices) {
  torch::set_num_threads(choices.threads);
  const auto device = process::chooseDevice(choices.device);
  const auto sizes = worker::resolveSizes(worker::Options(), /*realMps=*/false);
  if (!device || !sizes) {
    const Error& error = device ? sizes.error() : device.error();
    std::fprintf(stderr, "bench: %s\n", error.message.c_str());
    return 1;
  }
  const auto ops = compare(choices, *device, sizes->model);
  if (!ops) {
    std::fprintf(stderr, "bench: %s\n", ops.error().message.c_str());
    return 1;
  }
  print(*ops);
  const std::string setting = "small, 16 × 64, " + choices.device;
  bench::Findings findings;
  findings.bench = "ops_trace";
  findings.command = "tests/bench/run ops_trace";
  findings.peer = "torch's profiler (kineto), CPU activities, of the same steps";
  findings.rows = {farthest(*ops, true, setting), farthest(*ops, false, setting),
                   share(*ops, setting), leaves(*ops, setting)};
  return bench::publish(findings, choices.json) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  CLI::App app("Times of ops by the probe and by kineto, of the same steps");
  app.add_option("--device", choices.device)->check(CLI::IsMember({"sim", "cpu"}));
  app.add_option("--recordings", choices.recordings)->check(CLI::Range(1, 1000));
  app.add_option("--steps", choices.steps, "Steps in a recording")->check(CLI::Range(1, 1000));
  app.add_option("--threads", choices.threads, "OpenMP threads")->check(CLI::Range(1, 64));
  app.add_option("--json", choices.json, "File for the figures");
  return bench::runProgram(app, argc, argv, [&] { return run(choices); });
}
