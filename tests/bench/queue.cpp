// Compares a step's enqueue time on the host with its execution time on the simulated device, and
// its wall time with that of the same step on the plain CPU. Both run in one process, in blocks A B
// B A, with the same number of OpenMP threads.

#include <fcntl.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>

#include "bench/findings.h"
#include "bench/paired.h"
#include "bench/program.h"
#include "bench/worker_step.h"
#include "core/clock.h"
#include "process/device.h"
#include "worker/options.h"

namespace {

using namespace highwater;

struct Choices {
  std::string preset = "small";
  int threads = 1;
  int quads = 10;
  int steps = 4;  ///< in a block
  std::string json = "queue.json";
};

constexpr bench::BatchShape kBatch{32, 128};
constexpr double kEnqueueGoal = 0.1;
constexpr double kWallGoal = 1.1;

/// Runs blocks of steps on the simulated device. Measures for each block the host's time to enqueue
/// and the time until all jobs are done.
class DeviceBlocks {
 public:
  DeviceBlocks(bench::ClassifierStep& step, const DeviceReport& device, int steps)
      : step_(step), device_(device), steps_(steps) {}

  void run() {
    // Only while the device's blocks run: the probe must not slow down the peer.
    bench::WorkerProbe probe(device_, nowhere_, events::ProbeLevel::Monitor);
    std::int64_t enqueueNs = 0, executionNs = 0;
    for (int i = 0; i < steps_; ++i) {
      const std::int64_t begin = probe.recorder().now();
      step_.run(&probe, static_cast<std::uint32_t>(i) + 1);
      const std::int64_t queued = probe.recorder().now();
      step_.finish();
      enqueueNs += queued - begin;
      executionNs += probe.recorder().now() - begin;
    }
    const double steps = steps_;
    ratios_.push_back(static_cast<double>(enqueueNs) / static_cast<double>(executionNs));
    enqueueMs_.push_back(static_cast<double>(enqueueNs) / 1e6 / steps);
    executionMs_.push_back(static_cast<double>(executionNs) / 1e6 / steps);
  }

  [[nodiscard]] bench::Estimate ratio() const { return bench::estimate(warm(ratios_)); }
  [[nodiscard]] bench::Estimate enqueueMs() const { return bench::estimate(warm(enqueueMs_)); }
  [[nodiscard]] bench::Estimate executionMs() const { return bench::estimate(warm(executionMs_)); }

 private:
  // The first block warms up.
  static std::vector<double> warm(const std::vector<double>& values) {
    return {values.begin() + std::min<std::ptrdiff_t>(1, std::ssize(values)), values.end()};
  }

  bench::ClassifierStep& step_;
  const DeviceReport& device_;
  int steps_;
  int nowhere_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::vector<double> ratios_, enqueueMs_, executionMs_;
};

bench::Findings measure(const Choices& choices, const worker::ModelSize& size,
                        const DeviceReport& report) {
  bench::ClassifierStep onDevice(size, kBatch, torch::Device(torch::kMPS, 0));
  bench::ClassifierStep onCpu(size, kBatch, torch::kCPU);
  DeviceBlocks device(onDevice, report, choices.steps);
  const auto quads = bench::runQuads(
      choices.quads, [&] { device.run(); },
      [&] {
        for (int i = 0; i < choices.steps; ++i) onCpu.run(nullptr, 0);
      });
  const std::string setting =
      choices.preset + ", 32 × 128, threads: " + std::to_string(choices.threads);
  const bool judged = choices.threads == 1;
  bench::Findings findings;
  findings.bench = "queue";
  findings.command = "tests/bench/run queue";
  findings.peer = "the same step on the plain CPU";
  findings.rows = {
      {"enqueue_over_execution", setting, "×", device.ratio(),
       judged ? std::optional(kEnqueueGoal) : std::nullopt},
      {"enqueue", setting, "ms", device.enqueueMs(), {}},
      {"execution", setting, "ms", device.executionMs(), {}},
      {"wall_over_cpu", setting, "×", bench::estimate(bench::wallRatios(quads)),
       judged ? std::optional(kWallGoal) : std::nullopt},
      {"cpu_time_over_cpu", setting, "×", bench::estimate(bench::cpuRatios(quads)), {}},
      {"control_cpu_over_cpu", setting, "×", bench::estimate(bench::controlRatios(quads)), {}},
  };
  return findings;
}

int run(const Choices& choices) {
  torch::set_num_threads(choices.threads);
  const auto device = process::chooseDevice("sim");
  if (!device) {
    std::fprintf(stderr, "bench: %s\n", device.error().message.c_str());
    return 1;
  }
  worker::Options options;
  options.preset = choices.preset;
  const auto sizes = worker::resolveSizes(options, /*realMps=*/false);
  if (!sizes) {
    std::fprintf(stderr, "bench: %s\n", sizes.error().message.c_str());
    return 2;
  }
  return bench::publish(measure(choices, sizes->model, *device), choices.json) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  CLI::App app("Enqueue time, execution and wall time of a training step on the simulated device");
  app.add_option("--preset", choices.preset)->check(CLI::IsMember({"small", "base"}));
  app.add_option("--threads", choices.threads, "OpenMP threads of either side")
      ->check(CLI::Range(1, 64));
  app.add_option("--quads", choices.quads, "Blocks A B B A")->check(CLI::Range(1, 10'000));
  app.add_option("--steps", choices.steps, "Steps in a block")->check(CLI::Range(1, 10'000));
  app.add_option("--json", choices.json, "File for the figures");
  return bench::runProgram(app, argc, argv, [&] { return run(choices); });
}
