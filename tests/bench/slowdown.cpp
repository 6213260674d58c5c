// What observing costs a training: the median step time with the probe at monitor and at ops, with
// PyTorch's own profiler (kineto, CPU activities) and with an empty RecordFunction callback, each
// over that of the same steps without an observer. All in one process and one run. A round has two
// blocks of each, mirrored (A B C N N C B A), so that a drift of the machine affects all alike; the
// order changes from round to round.
//
// The probe is complete, as in the worker: the sampler runs at 50 Hz, and the sender writes
// frames into a pipe that another process reads. Without an observer none of its threads or
// callbacks exist. kineto's own work at the end of a block is not counted.

#include <ATen/record_function.h>
#include <time.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/findings.h"
#include "bench/program.h"
#include "bench/reader_process.h"
#include "bench/worker_step.h"
#include "core/clock.h"
#include "process/device.h"
#include "worker/options.h"

namespace {

using namespace highwater;

struct Choices {
  std::string model = "small";
  std::string device = "sim";
  int threads = 1;
  int rounds = 25;
  int steps = 14;  ///< in a block; 25 rounds of two blocks are 700 steps a side
  std::string json = "slowdown.json";
};

struct Workload {
  worker::ModelSize size;
  bench::BatchShape shape;
  double monitorGoal;
  double monitorCpuGoal;
  std::optional<double> opsGoal;
};

/// "small" is the worker's default. "chatty" has a batch of 1 and next to no work in its ops.
Workload workloadOf(const std::string& model) {
  if (model == "chatty") return {{"chatty", 32, 4, 4, 64}, {1, 16}, 1.02, 1.03, {}};
  return {{"small", 128, 2, 4, 512}, {16, 64}, 1.01, 1.02, 1.05};
}

enum Way { kNothing, kEmpty, kMonitor, kOps, kKineto, kWays };

/// One block of steps.
struct Block {
  double stepMs = 0;  ///< median
  double cpuMs = 0;   ///< of the whole process, a step
};
/// Two blocks of each observer.
using Round = std::array<std::array<Block, 2>, kWays>;

double processMs() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Runs kineto on the calling thread and the threads that it starts, from construction to
/// destruction.
class KinetoScope {
 public:
  KinetoScope() {
    using namespace torch::autograd::profiler;
    const ProfilerConfig config(ProfilerState::KINETO);
    const std::set<ActivityType> activities{ActivityType::CPU};
    prepareProfiler(config, activities);
    enableProfiler(config, activities);
  }
  ~KinetoScope() { (void)torch::autograd::profiler::disableProfiler(); }
  KinetoScope(const KinetoScope&) = delete;
  KinetoScope& operator=(const KinetoScope&) = delete;
};

/// Counts the ops and nodes of backward, nested ones included, that `work` runs on all threads.
template <typename F>
double countOps(F&& work) {
  static std::atomic<int> count;
  count = 0;
  const auto begin = [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
    ++count;
    return nullptr;
  };
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin).scopes(
      {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  work();
  at::removeCallback(handle);
  return count;
}

/// A callback that does nothing, registered like the probe's at ops: the cost of any observer of
/// all ops.
class EmptyCallback {
 public:
  EmptyCallback()
      : handle_(at::addGlobalCallback(
            at::RecordFunctionCallback(&begin, &end)
                .needsInputs(true)
                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {}
  ~EmptyCallback() { at::removeCallback(handle_); }
  EmptyCallback(const EmptyCallback&) = delete;
  EmptyCallback& operator=(const EmptyCallback&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) { return nullptr; }
  static void end(const at::RecordFunction&, at::ObserverContext*) {}

  at::CallbackHandle handle_;
};

class Blocks {
 public:
  Blocks(const Workload& workload, const DeviceReport& device, int steps, int frames)
      : step_(workload.size, workload.shape, bench::torchDevice(device)),
        device_(device),
        steps_(steps),
        frames_(frames) {}

  [[nodiscard]] double opsOfStep() {
    return countOps([this] { step_.run(nullptr, 0); });
  }

  Block run(Way way) {
    std::optional<bench::WorkerProbe> probe;
    if (way == kMonitor) probe.emplace(device_, frames_, events::ProbeLevel::Monitor);
    if (way == kOps) probe.emplace(device_, frames_, events::ProbeLevel::Ops);
    std::optional<EmptyCallback> empty;
    if (way == kEmpty) empty.emplace();
    std::optional<KinetoScope> kineto;
    if (way == kKineto) kineto.emplace();
    const Block block = time(probe ? &*probe : nullptr);
    kineto.reset();
    step_.finish();
    return block;
  }

 private:
  /// From the begin of a step to the begin of the next: it waits there until the device has done
  /// the one before. The first step is not counted: names are new then.
  Block time(bench::WorkerProbe* probe) {
    step_.run(probe, 1);
    std::vector<double> ms;
    const double cpu = processMs();
    std::int64_t begin = monotonicNs();
    for (int i = 0; i < steps_; ++i) {
      step_.run(probe, static_cast<std::uint32_t>(i) + 2);
      const std::int64_t end = monotonicNs();
      ms.push_back(static_cast<double>(end - begin) / 1e6);
      begin = end;
    }
    const double cpuMs = (processMs() - cpu) / steps_;
    return {bench::medianOf(ms), cpuMs};
  }

  bench::ClassifierStep step_;
  const DeviceReport& device_;
  int steps_;
  int frames_;
};

Round measureRound(Blocks& blocks, int number) {
  std::array<Way, kWays> order{kMonitor, kOps, kKineto, kEmpty, kNothing};
  std::rotate(order.begin(), order.begin() + number % kWays, order.end());
  Round round{};
  for (const Way way : order) round[way][0] = blocks.run(way);
  std::reverse(order.begin(), order.end());
  for (const Way way : order) round[way][1] = blocks.run(way);
  return round;
}

using Part = double Block::*;

double sum(const Round& round, Way way, Part part) {
  return round[way][0].*part + round[way][1].*part;
}

class Rows {
 public:
  Rows(std::vector<Round> rounds, std::string setting)
      : rounds_(std::move(rounds)), setting_(std::move(setting)) {}

  [[nodiscard]] bench::Finding over(const char* name, Way way, Part part,
                                    std::optional<double> goal) const {
    return row(name, "×", goal, [=](const Round& round) {
      return sum(round, way, part) / sum(round, kNothing, part);
    });
  }
  /// Of the process's CPU time, in ns for each of the step's ops.
  [[nodiscard]] bench::Finding adds(const char* name, Way way, double ops) const {
    return row(name, "ns", {}, [=](const Round& round) {
      return (sum(round, way, &Block::cpuMs) - sum(round, kNothing, &Block::cpuMs)) / 2 * 1e6 / ops;
    });
  }
  [[nodiscard]] bench::Finding constant(const char* name, double value) const {
    return {name, setting_, "", {value, value, value, 1}, {}};
  }
  [[nodiscard]] bench::Finding control() const {
    return row("control_nothing_over_nothing", "×", {}, [](const Round& round) {
      return round[kNothing][0].stepMs / round[kNothing][1].stepMs;
    });
  }
  [[nodiscard]] bench::Finding bare(const char* name, Part part) const {
    return row(name, "ms", {}, [=](const Round& round) { return sum(round, kNothing, part) / 2; });
  }

 private:
  template <typename F>
  [[nodiscard]] bench::Finding row(const char* name, const char* unit, std::optional<double> goal,
                                   F&& value) const {
    std::vector<double> values;
    for (const Round& round : rounds_) values.push_back(value(round));
    return {name, setting_, unit, bench::estimate(values), goal};
  }

  std::vector<Round> rounds_;
  std::string setting_;
};

bench::Findings measure(const Choices& choices, const Workload& workload,
                        const DeviceReport& device, int frames) {
  Blocks blocks(workload, device, choices.steps, frames);
  for (int way = 0; way < kWays; ++way) (void)blocks.run(static_cast<Way>(way));
  const double ops = blocks.opsOfStep();
  std::vector<Round> rounds;
  for (int i = 0; i < choices.rounds; ++i) rounds.push_back(measureRound(blocks, i));
  const std::string shape =
      std::to_string(workload.shape.batch) + " × " + std::to_string(workload.shape.length);
  const Rows rows(std::move(rounds), choices.model + ", " + shape + ", " + choices.device);
  bench::Findings findings;
  findings.bench = "slowdown";
  findings.command = "tests/bench/run slowdown";
  findings.peer =
      "nothing, an empty callback, and torch's profiler (kineto), CPU activities, in C++; " +
      std::to_string(2 * choices.rounds * choices.steps) + " steps a side";
  findings.rows = {
      rows.bare("bare_step", &Block::stepMs),
      rows.over("empty_over_nothing", kEmpty, &Block::stepMs, {}),
      rows.over("monitor_over_nothing", kMonitor, &Block::stepMs, workload.monitorGoal),
      rows.over("ops_over_nothing", kOps, &Block::stepMs, workload.opsGoal),
      rows.over("kineto_over_nothing", kKineto, &Block::stepMs, {}),
      rows.control(),
      rows.bare("bare_cpu_time", &Block::cpuMs),
      rows.over("empty_cpu_time", kEmpty, &Block::cpuMs, {}),
      rows.over("monitor_cpu_time", kMonitor, &Block::cpuMs, workload.monitorCpuGoal),
      rows.over("ops_cpu_time", kOps, &Block::cpuMs, {}),
      rows.over("kineto_cpu_time", kKineto, &Block::cpuMs, {}),
      rows.constant("ops_a_step", ops),
      rows.adds("empty_cpu_adds_an_op", kEmpty, ops),
      rows.adds("monitor_cpu_adds_an_op", kMonitor, ops),
      rows.adds("ops_cpu_adds_an_op", kOps, ops),
      rows.adds("kineto_cpu_adds_an_op", kKineto, ops),
  };
  return findings;
}

int run(const Choices& choices) {
  const bench::ReaderProcess reader;
  if (reader.fd() < 0) {
    std::perror("bench: no process to read the frames");
    return 1;
  }
  torch::set_num_threads(choices.threads);
  const auto device = process::chooseDevice(choices.device);
  if (!device) {
    std::fprintf(stderr, "bench: %s\n", device.error().message.c_str());
    return 1;
  }
  const bench::Findings findings =
      measure(choices, workloadOf(choices.model), *device, reader.fd());
  return bench::publish(findings, choices.json) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  CLI::App app("Median step time under the probe and under kineto, over that under nothing");
  app.add_option("--model", choices.model)->check(CLI::IsMember({"small", "chatty"}));
  app.add_option("--device", choices.device)->check(CLI::IsMember({"sim", "cpu"}));
  app.add_option("--threads", choices.threads, "OpenMP threads")->check(CLI::Range(1, 64));
  app.add_option("--rounds", choices.rounds, "Two blocks of each")->check(CLI::Range(1, 10'000));
  app.add_option("--steps", choices.steps, "Steps in a block")->check(CLI::Range(1, 10'000));
  app.add_option("--json", choices.json, "File for the figures");
  return bench::runProgram(app, argc, argv, [&] { return run(choices); });
}
