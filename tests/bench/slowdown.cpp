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
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/harness.h"
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
  int steps = 14;  ///< in a block; 25 rounds of two blocks are 700 steps a side
};

const bench::Bench kBench{
    "slowdown",
    "Median step time under the probe and under kineto, over that under nothing",
    "nothing, an empty callback, and torch's profiler (kineto), CPU activities, in C++",
    {{"monitor_over_nothing", 1.01, "small"},
     {"monitor_over_nothing", 1.02, "chatty"},
     {"monitor_cpu_time", 1.02, "small"},
     {"monitor_cpu_time", 1.03, "chatty"},
     {"ops_over_nothing", 1.05, "small"}},
    25};

struct Workload {
  worker::ModelSize size;
  bench::BatchShape shape;
};

/// "small" is the worker's default. "chatty" has a batch of 1 and next to no work in its ops.
Workload workloadOf(const std::string& model) {
  if (model == "chatty") return {{"chatty", 32, 4, 4, 64}, {1, 16}};
  return {{"small", 128, 2, 4, 512}, {16, 64}};
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

  [[nodiscard]] bench::Row over(const char* name, Way way, Part part) const {
    return row(name, "×", [=](const Round& round) {
      return sum(round, way, part) / sum(round, kNothing, part);
    });
  }
  /// Of the process's CPU time, in ns for each of the step's ops.
  [[nodiscard]] bench::Row adds(const char* name, Way way, double ops) const {
    return row(name, "ns", [=](const Round& round) {
      return (sum(round, way, &Block::cpuMs) - sum(round, kNothing, &Block::cpuMs)) / 2 * 1e6 / ops;
    });
  }
  [[nodiscard]] bench::Row control() const {
    return row("control_nothing_over_nothing", "×", [](const Round& round) {
      return round[kNothing][0].stepMs / round[kNothing][1].stepMs;
    });
  }
  [[nodiscard]] bench::Row bare(const char* name, Part part) const {
    return row(name, "ms", [=](const Round& round) { return sum(round, kNothing, part) / 2; });
  }

 private:
  template <typename F>
  [[nodiscard]] bench::Row row(const char* name, const char* unit, F&& value) const {
    std::vector<double> values;
    for (const Round& round : rounds_) values.push_back(value(round));
    return {name, setting_, unit, bench::estimate(values)};
  }

  std::vector<Round> rounds_;
  std::string setting_;
};

void measure(const Choices& choices, int count, const DeviceReport& device, int frames,
             bench::Report& report) {
  const Workload workload = workloadOf(choices.model);
  Blocks blocks(workload, device, choices.steps, frames);
  for (int way = 0; way < kWays; ++way) (void)blocks.run(static_cast<Way>(way));
  const double ops = blocks.opsOfStep();
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) rounds.push_back(measureRound(blocks, i));
  const std::string setting = choices.model + ", " + std::to_string(workload.shape.batch) + " × " +
                              std::to_string(workload.shape.length) + ", " + choices.device;
  const Rows rows(std::move(rounds), setting);
  report.peer += "; " + std::to_string(2 * count * choices.steps) + " steps a side";
  report.rows = {
      rows.bare("bare_step", &Block::stepMs),
      rows.over("empty_over_nothing", kEmpty, &Block::stepMs),
      rows.over("monitor_over_nothing", kMonitor, &Block::stepMs),
      rows.over("ops_over_nothing", kOps, &Block::stepMs),
      rows.over("kineto_over_nothing", kKineto, &Block::stepMs),
      rows.control(),
      rows.bare("bare_cpu_time", &Block::cpuMs),
      rows.over("empty_cpu_time", kEmpty, &Block::cpuMs),
      rows.over("monitor_cpu_time", kMonitor, &Block::cpuMs),
      rows.over("ops_cpu_time", kOps, &Block::cpuMs),
      rows.over("kineto_cpu_time", kKineto, &Block::cpuMs),
      bench::exact("ops_a_step", setting, "", ops),
      rows.adds("empty_cpu_adds_an_op", kEmpty, ops),
      rows.adds("monitor_cpu_adds_an_op", kMonitor, ops),
      rows.adds("ops_cpu_adds_an_op", kOps, ops),
      rows.adds("kineto_cpu_adds_an_op", kKineto, ops),
  };
}

void run(const Choices& choices, int rounds, bench::Report& report) {
  const bench::ReaderProcess reader;
  if (reader.fd() < 0) throw std::runtime_error("no process to read the frames");
  torch::set_num_threads(choices.threads);
  const auto device = process::chooseDevice(choices.device);
  if (!device) throw std::runtime_error(device.error().message);
  measure(choices, rounds, *device, reader.fd(), report);
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  bench::Harness harness(kBench);
  CLI::App& options = harness.options();
  options.add_option("--model", choices.model)->check(CLI::IsMember({"small", "chatty"}));
  options.add_option("--device", choices.device)->check(CLI::IsMember({"sim", "cpu"}));
  options.add_option("--threads", choices.threads, "OpenMP threads")->check(CLI::Range(1, 64));
  options.add_option("--steps", choices.steps, "Steps in a block")->check(CLI::Range(1, 10'000));
  return harness.run(argc, argv,
                     [&](bench::Report& report) { run(choices, harness.rounds(), report); });
}
