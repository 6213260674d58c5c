// Compares the probe with PyTorch's own profiler (kineto) on a real asynchronous accelerator, in
// the same steps: the worker's training step with its loss read in each step, on the device of
// --device. For each step it compares the probe's device span (a pair of events) with the time from
// the end of kineto's copy of the batch to the end of its last kernel, and the wait of the loss
// read with kineto's op of the same name. The device is idle between steps, so that a kernel's time
// tells its step.

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/findings.h"
#include "bench/program.h"
#include "bench/recorded_frames.h"
#include "bench/worker_step.h"
#include "core/names.h"
#include "process/device.h"
#include "worker/options.h"

namespace {

using namespace highwater;

struct Choices {
  std::string device = "cuda";
  std::string preset = "base";
  int batch = 32, length = 128, steps = 60, warmUp = 10;
  std::string json = "accelerator.json";
};

/// One observer's figures for one step, in ms; negative if unknown.
struct StepTimes {
  double spanMs = -1;
  double waitMs = -1;
};
using Steps = std::map<std::uint32_t, StepTimes>;

/// The probe's figures, from its frames.
class ProbeTimes {
 public:
  void operator()(const EventBatch& batch) {
    for (const events::DeviceSpan& each : batch.deviceSpans) {
      steps[each.step()].spanMs = static_cast<double>(each.device_ns()) / 1e6;
    }
    for (const events::SyncPoint& each : batch.syncPoints) {
      if (each.kind() != events::SyncKind::ScalarRead) continue;
      steps[each.step()].waitMs = static_cast<double>(each.duration_ns()) / 1e6;
    }
  }
  template <typename T>
  void operator()(const T&) {}

  Steps steps;
};

/// The name of the scope around a step.
const std::string kStepScope = "highwater bench step";

/// Kineto's figures: the device's activities and the reads, each assigned to the step in whose
/// scope it began.
Steps kinetoTimes(const torch::autograd::profiler::ProfilerResult& result) {
  std::map<std::int64_t, std::uint32_t> stepAt;  // by the begin of its scope
  std::uint32_t step = 0;
  std::map<std::int64_t, bool> scopes;
  for (const auto& event : result.events()) {
    const bool host = event.deviceType() == c10::DeviceType::CPU;
    if (host && event.name() == kStepScope) scopes[event.startNs()] = true;
  }
  for (const auto& [begin, is] : scopes) stepAt[begin] = ++step;
  const auto stepOf = [&stepAt](std::int64_t ns) {
    const auto next = stepAt.upper_bound(ns);
    return next == stepAt.begin() ? 0u : std::prev(next)->second;
  };
  std::map<std::uint32_t, std::int64_t> copied, ended;
  Steps steps;
  for (const auto& event : result.events()) {
    const std::int64_t begin = event.startNs();
    const std::int64_t end = begin + static_cast<std::int64_t>(event.durationNs());
    const std::uint32_t at = stepOf(begin);
    if (at == 0 || event.name() == kStepScope) continue;
    if (event.deviceType() == c10::DeviceType::CPU) {
      if (event.name() == "aten::_local_scalar_dense") {
        steps[at].waitMs = static_cast<double>(event.durationNs()) / 1e6;
      }
      continue;
    }
    if (event.name().find("HtoD") != std::string::npos) copied[at] = std::max(copied[at], end);
    ended[at] = std::max(ended[at], end);
  }
  for (const auto& [at, end] : ended) {
    if (copied.contains(at)) steps[at].spanMs = static_cast<double>(end - copied[at]) / 1e6;
  }
  return steps;
}

struct Measured {
  Steps probe, kineto;
};

Measured measure(const Choices& choices, const DeviceReport& device) {
  using namespace torch::autograd::profiler;
  worker::Options options;
  options.preset = choices.preset;
  const auto sizes = worker::resolveSizes(options, /*realMps=*/true);
  if (!sizes) throw std::runtime_error(sizes.error().message);
  bench::ClassifierStep step(sizes->model, {choices.batch, choices.length},
                             bench::torchDevice(device));
  step.readLoss(true);
  for (int i = 0; i < choices.warmUp; ++i) step.run(nullptr, 0);
  step.finish();
  const bench::TemporaryFile file = bench::makeTemporaryFile();
  if (!file) throw std::runtime_error("no temporary file can be made");
  const ProfilerConfig config(ProfilerState::KINETO);
  const std::set<ActivityType> activities{ActivityType::CPU, ActivityType::CUDA};
  std::unique_ptr<ProfilerResult> result;
  {
    bench::WorkerProbe probe(device, ::fileno(file.get()), events::ProbeLevel::Monitor);
    prepareProfiler(config, activities);
    enableProfiler(config, activities, {at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE});
    for (int i = 1; i <= choices.steps; ++i) {
      RECORD_USER_SCOPE(kStepScope);
      step.run(&probe, static_cast<std::uint32_t>(i));
      step.finish();
    }
    result = disableProfiler();
    probe.batchIsThere(0);  // reads the last step's span
  }
  ProbeTimes probe;
  bench::forEachMessage(::fileno(file.get()), probe);
  return {probe.steps, kinetoTimes(*result)};
}

bench::Findings findingsOf(const Choices& choices, const Measured& measured) {
  const std::string setting = choices.preset + ", " + std::to_string(choices.batch) + " x " +
                              std::to_string(choices.length);
  std::vector<double> spans, kinetoSpans, spanRatios, waits, kinetoWaits, waitRatios;
  for (const auto& [step, mine] : measured.probe) {
    const auto found = measured.kineto.find(step);
    if (found == measured.kineto.end()) continue;
    const StepTimes& theirs = found->second;
    if (mine.spanMs > 0 && theirs.spanMs > 0) {
      spans.push_back(mine.spanMs);
      kinetoSpans.push_back(theirs.spanMs);
      spanRatios.push_back(mine.spanMs / theirs.spanMs);
    }
    if (mine.waitMs > 0 && theirs.waitMs > 0) {
      waits.push_back(mine.waitMs);
      kinetoWaits.push_back(theirs.waitMs);
      waitRatios.push_back(mine.waitMs / theirs.waitMs);
    }
  }
  bench::Findings findings;
  findings.bench = "accelerator";
  findings.command = "tests/bench/run accelerator";
  findings.peer = "torch's profiler (kineto), CPU and CUDA activities, in the same steps";
  const auto row = [&](const char* name, const char* unit, const std::vector<double>& values) {
    if (values.empty()) throw std::runtime_error(std::string("nothing was measured for ") + name);
    findings.rows.push_back({name, setting, unit, bench::estimate(values), {}});
  };
  row("device_span", "ms", spans);
  row("kineto_device_span", "ms", kinetoSpans);
  row("device_span_over_kineto", "×", spanRatios);
  row("loss_read_wait", "ms", waits);
  row("kineto_loss_read", "ms", kinetoWaits);
  row("loss_read_over_kineto", "×", waitRatios);
  return findings;
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  CLI::App app("The probe's device span and waits beside kineto's, on a real accelerator");
  app.add_option("--device", choices.device)->check(CLI::IsMember({"cuda"}));
  app.add_option("--preset", choices.preset)->check(CLI::IsMember({"small", "base"}));
  app.add_option("--batch", choices.batch)->check(CLI::Range(1, 4096));
  app.add_option("--length", choices.length)->check(CLI::Range(1, 512));
  app.add_option("--steps", choices.steps)->check(CLI::Range(2, 10'000));
  app.add_option("--json", choices.json, "File for the figures");
  return bench::runProgram(app, argc, argv, [&] {
    const auto device = process::chooseDevice(choices.device);
    if (!device) throw std::runtime_error(device.error().message);
    const Measured measured = measure(choices, *device);
    return bench::publish(findingsOf(choices, measured), choices.json) ? 0 : 1;
  });
}
