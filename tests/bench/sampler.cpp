// The cost of the sampler's thread: its CPU time at 1 kHz over that of the same wake-up loop with
// an empty body (probe::WakeUps on a grid of deadlines), in blocks A B B A; its share of a core at
// 50 Hz; and how late it wakes, alone and during a training. The counters are the simulated
// device's; the sender discards the samples.

#include <fcntl.h>
#include <pthread.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/findings.h"
#include "bench/program.h"
#include "bench/worker_step.h"
#include "core/clock.h"
#include "probe/readings/mps_device.h"
#include "probe/readings/sampler.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/sender.h"
#include "process/device.h"
#include "worker/options.h"

namespace {

using namespace highwater;

constexpr double kOverEmptyGoal = 1.5;
constexpr double kCorePercentGoal = 0.5;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

struct Choices {
  int quads = 12;
  double seconds = 1;  ///< of a block at 1 kHz; at 50 Hz and for the lateness three times that
  std::string json = "sampler.json";
};

void sleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// The CPU time of another thread, which identifies itself.
class ThreadTime {
 public:
  /// Called by the measured thread, any number of times.
  void isThisThread() {
    if (known_.load(std::memory_order_relaxed)) return;
    ::pthread_getcpuclockid(::pthread_self(), &clock_);
    known_.store(true, std::memory_order_release);
  }
  /// Nanoseconds. Waits until the thread has identified itself.
  [[nodiscard]] double ns() const {
    while (!known_.load(std::memory_order_acquire)) sleepFor(0.001);
    timespec now{};
    ::clock_gettime(clock_, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  }

 private:
  std::atomic<bool> known_{false};
  clockid_t clock_{};
};

/// Forwards to the device's counters and identifies the sampler's thread, on which they are read.
class WatchedCounters : public probe::CounterSource {
 public:
  std::optional<probe::DeviceCounters> read() override {
    time.isThisThread();
    if (keepsTimes) times.push_back(monotonicNs());
    return counters_->read();
  }

  ThreadTime time;
  std::int64_t startNs = 0;  ///< of the sampler's deadlines
  bool keepsTimes = false;
  std::vector<std::int64_t> times;

 private:
  std::unique_ptr<probe::CounterSource> counters_ = probe::makeMpsCounters();
};

/// Mean share of a core that `thread` takes during `seconds`, in %.
double corePercent(const ThreadTime& thread, double seconds) {
  const double cpu = thread.ns();
  const std::int64_t wall = monotonicNs();
  sleepFor(seconds);
  return 100 * (thread.ns() - cpu) / static_cast<double>(monotonicNs() - wall);
}

/// Runs the sampler as the worker does while `meanwhile` runs.
template <typename F>
auto underSampler(const DeviceReport& device, WatchedCounters& counters, std::uint32_t hz,
                  F&& meanwhile) {
  static const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  probe::Recorder recorder(RunClock::startingNow());
  probe::FrameWriter writer(nowhere);
  probe::Sender sender(recorder, writer);
  probe::Sampler sampler(recorder, &counters, hz, process::makeSystemReader(device));
  sender.start();
  counters.startNs = monotonicNs();
  sampler.start();
  const auto result = meanwhile();
  sampler.stop();
  sender.stop();
  return result;
}

double samplerPercent(const DeviceReport& device, std::uint32_t hz, double seconds) {
  WatchedCounters counters;
  return underSampler(device, counters, hz, [&] { return corePercent(counters.time, seconds); });
}

double emptyLoopPercent(std::uint32_t hz, double seconds) {
  probe::WakeUps wakeUps;
  ThreadTime time;
  std::thread thread([&] {
    time.isThisThread();
    const RunClock clock = RunClock::startingNow();
    probe::DeadlineGrid grid(0, kNsPerSecond / hz);
    wakeUps.run(clock, 0, [&grid](std::int64_t nowNs) {
      grid.advance(nowNs);
      return grid.nextNs();
    });
  });
  const double percent = corePercent(time, seconds);
  wakeUps.end();
  thread.join();
  return percent;
}

/// Of the quads A B B A at 1 kHz.
struct OneKilohertz {
  std::vector<double> ratios, control, percent;
};

OneKilohertz measureOneKilohertz(const Choices& choices, const DeviceReport& device) {
  constexpr std::uint32_t kHz = probe::kMaxSamplingHz;
  const auto sampler = [&] { return samplerPercent(device, kHz, choices.seconds); };
  const auto empty = [&] { return emptyLoopPercent(kHz, choices.seconds); };
  OneKilohertz found;
  for (int i = 0; i < choices.quads; ++i) {
    const double a1 = sampler(), b1 = empty(), b2 = empty(), a2 = sampler();
    found.ratios.push_back((a1 + a2) / (b1 + b2));
    found.control.push_back(b1 / b2);
    found.percent.push_back((a1 + a2) / 2);
  }
  return found;
}

/// Microseconds after the deadline that each sample had slept until.
std::vector<double> lateness(std::int64_t startNs, const std::vector<std::int64_t>& times,
                             std::uint32_t hz) {
  const std::int64_t period = kNsPerSecond / hz;
  std::vector<double> late;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const std::int64_t deadline = startNs + ((times[i - 1] - startNs) / period + 1) * period;
    late.push_back(static_cast<double>(times[i] - deadline) / 1e3);
  }
  return late;
}

std::vector<double> measureLateness(const DeviceReport& device, std::uint32_t hz, double seconds,
                                    bench::ClassifierStep* training) {
  WatchedCounters counters;
  counters.keepsTimes = true;
  counters.times.reserve(static_cast<std::size_t>((seconds + 5) * hz));
  underSampler(device, counters, hz, [&] {
    const std::int64_t end = monotonicNs() + static_cast<std::int64_t>(seconds * 1e9);
    if (!training) sleepFor(seconds);
    while (training && monotonicNs() < end) training->run(nullptr, 0);
    if (training) training->finish();
    return 0;
  });
  counters.times.pop_back();  // taken at its end, not at a deadline
  return lateness(counters.startNs, counters.times, hz);
}

void addLateness(bench::Findings& findings, const std::vector<double>& late,
                 const std::string& setting) {
  for (const auto& [name, share] : {std::pair("late_p50", 0.5), std::pair("late_p95", 0.95),
                                    std::pair("late_p99", 0.99), std::pair("late_most", 1.0)}) {
    findings.rows.push_back(bench::quantile(name, setting, "us", late, share));
  }
}

bench::Findings measure(const Choices& choices, const DeviceReport& device,
                        const worker::ModelSize& size) {
  const OneKilohertz fast = measureOneKilohertz(choices, device);
  const double longer = 3 * choices.seconds;
  std::vector<double> slow;
  for (int i = 0; i < choices.quads; ++i) {
    slow.push_back(samplerPercent(device, probe::kDefaultSamplingHz, longer));
  }
  bench::Findings findings;
  findings.bench = "sampler";
  findings.command = "tests/bench/run sampler";
  findings.peer = "the same wake-up loop with an empty body; CPU times are the thread's own";
  findings.rows = {
      {"cpu_over_empty_loop", "1 kHz", "×", bench::estimate(fast.ratios), kOverEmptyGoal},
      {"control_empty_over_empty", "1 kHz", "×", bench::estimate(fast.control), {}},
      {"cpu", "1 kHz", "% of a core", bench::estimate(fast.percent), {}},
      {"cpu", "50 Hz", "% of a core", bench::estimate(slow), kCorePercentGoal},
  };
  bench::ClassifierStep training(size, {16, 64}, bench::torchDevice(device));
  for (const std::uint32_t hz : {probe::kDefaultSamplingHz, probe::kMaxSamplingHz}) {
    const std::string rate = hz == probe::kMaxSamplingHz ? "1 kHz" : "50 Hz";
    addLateness(findings, measureLateness(device, hz, longer, nullptr), rate + ", alone");
    addLateness(findings, measureLateness(device, hz, longer, &training), rate + ", training");
  }
  return findings;
}

int run(const Choices& choices) {
  torch::set_num_threads(1);
  const auto device = process::chooseDevice("sim");
  const auto sizes = worker::resolveSizes(worker::Options(), /*realMps=*/false);
  if (!device || !sizes) {
    const Error& error = device ? sizes.error() : device.error();
    std::fprintf(stderr, "bench: %s\n", error.message.c_str());
    return 1;
  }
  return bench::publish(measure(choices, *device, sizes->model), choices.json) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  CLI::App app("CPU time and lateness of the sampler's thread");
  app.add_option("--quads", choices.quads, "Blocks A B B A")->check(CLI::Range(1, 10'000));
  app.add_option("--seconds", choices.seconds, "Of a block")->check(CLI::Range(0.1, 600.0));
  app.add_option("--json", choices.json, "File for the figures");
  return bench::runProgram(app, argc, argv, [&] { return run(choices); });
}
