// Host enqueue time of a step against its execution on the simulated device, and its wall time
// against the same step on the plain CPU. Both in one process, in blocks A B B A; one thread count
// for the device's OpenMP team and the CPU's.

#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "bench/findings.h"
#include "bench/paired.h"
#include "core/clock.h"
#include "probe/device_span_meter.h"
#include "probe/frame_writer.h"
#include "probe/mps_device.h"
#include "probe/op_observer.h"
#include "probe/phase_scope.h"
#include "probe/sampler.h"
#include "probe/sender.h"
#include "worker/batches.h"
#include "worker/device.h"
#include "worker/model.h"
#include "worker/options.h"

#include <fcntl.h>

namespace {

using namespace highwater;

struct Choices {
  std::string preset = "small";
  int threads = 1;
  int quads = 10;
  int steps = 4;  ///< in a block
  std::string json = "queue.json";
};

constexpr std::int64_t kBatch = 32;
constexpr std::int64_t kLength = 128;
constexpr std::int64_t kVocabulary = 2000;
constexpr std::int64_t kLabels = 5;
constexpr double kEnqueueGoal = 0.1;
constexpr double kWallGoal = 1.1;

/// The probe as the worker has it at its default level; what it sends goes nowhere.
class Probe {
 public:
  explicit Probe(const DeviceReport& device)
      : counters_(probe::makeMpsCounters()),
        events_(probe::makeMpsEvents()),
        recorder_(RunClock::startingNow()),
        writer_(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
        sender_(recorder_, writer_),
        sampler_(recorder_, counters_.get(), probe::kDefaultSamplingHz,
                 worker::makeSystemReader(device)),
        observer_(recorder_),
        spans_(recorder_, *events_) {
    sender_.start();
    sampler_.start();
  }
  ~Probe() {
    sampler_.stop();
    sender_.stop();
  }
  probe::Recorder& recorder() { return recorder_; }
  probe::CounterSource* counters() { return counters_.get(); }
  probe::DeviceSpanMeter& spans() { return spans_; }

 private:
  std::unique_ptr<probe::CounterSource> counters_;
  std::unique_ptr<probe::EventSource> events_;
  probe::Recorder recorder_;
  probe::FrameWriter writer_;
  probe::Sender sender_;
  probe::Sampler sampler_;
  probe::OpObserver observer_;
  probe::DeviceSpanMeter spans_;
};

/// The classifier's training step on one device: what the worker does, with a batch that lies ready
/// on the host and a wait for the device at the end, so that its execution can be timed.
class Step {
 public:
  Step(const worker::ModelSize& size, torch::Device device) : device_(device) {
    torch::manual_seed(1);
    model_ = worker::IssueClassifier(size, kVocabulary, kLabels);
    model_->to(device_);
    optimizer_ = std::make_unique<torch::optim::AdamW>(model_->parameters(),
                                                       torch::optim::AdamWOptions(1e-3));
    torch::manual_seed(2);
    ids_ = torch::randint(2, kVocabulary, {kBatch, kLength}, torch::kInt64);
    labels_ = torch::randint(0, kLabels, {kBatch}, torch::kInt64);
  }

  /// Under `probe` where it is given, as step number `step`.
  void run(Probe* probe, std::uint32_t step) {
    const auto inPhase = [&](events::Phase which, auto&& work) {
      std::optional<probe::PhaseScope> scope;
      if (probe) scope.emplace(probe->recorder(), probe->counters(), which);
      work();
    };
    torch::Tensor ids, labels, loss;
    inPhase(events::Phase::DeviceMove, [&] {
      ids = ids_.to(device_);
      labels = labels_.to(device_);
    });
    if (probe) {
      probe->spans().readWhereIdle();
      probe->spans().beginStep(step);
    }
    inPhase(events::Phase::Forward,
            [&] { loss = torch::nn::functional::cross_entropy(model_(ids), labels); });
    inPhase(events::Phase::Backward, [&] {
      optimizer_->zero_grad();
      loss.backward();
    });
    inPhase(events::Phase::OptimizerStep, [&] { optimizer_->step(); });
    if (probe) probe->spans().endStep();
  }

 private:
  torch::Device device_;
  worker::IssueClassifier model_{nullptr};
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  torch::Tensor ids_, labels_;
};

/// Blocks of steps on the simulated device: of each block the host's time to enqueue and the time
/// until all was done.
class DeviceBlocks {
 public:
  DeviceBlocks(Step& step, const DeviceReport& device, int steps)
      : step_(step), device_(device), steps_(steps) {}

  void run() {
    // Only while the device's blocks run: the probe must not weigh on its peer.
    Probe probe(device_);
    std::int64_t enqueueNs = 0, executionNs = 0;
    for (int i = 0; i < steps_; ++i) {
      const std::int64_t begin = probe.recorder().now();
      step_.run(&probe, static_cast<std::uint32_t>(i) + 1);
      const std::int64_t queued = probe.recorder().now();
      torch::mps::synchronize();
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

  Step& step_;
  const DeviceReport& device_;
  int steps_;
  std::vector<double> ratios_, enqueueMs_, executionMs_;
};

bench::Findings measure(const Choices& choices, const worker::ModelSize& size,
                        const DeviceReport& report) {
  Step onDevice(size, torch::Device(torch::kMPS, 0));
  Step onCpu(size, torch::kCPU);
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
  const auto device = worker::chooseDevice("sim");
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
  CLI11_PARSE(app, argc, argv);
  try {
    return run(choices);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}
