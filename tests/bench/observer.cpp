// What an observer adds to the cheapest op, add_ of two tensors of one element on the CPU, and to
// the cheapest watched op, copy_ of the same. One run compares, in rotated order within each round:
// no observer, an empty RecordFunction callback, the probe at monitor and at ops, and torch's
// profiler (kineto) without and with shapes. A sample is one round's added cost over that of kineto
// without shapes, the cheaper peer, in the same round. Times are CPU times of the thread that runs
// the ops.

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <fcntl.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <set>
#include <vector>

#include "bench/harness.h"
#include "core/clock.h"
#include "probe/observer/op_observer.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/sender.h"

namespace {

using namespace highwater;

const bench::Bench kBench{"observer",
                          "Cost that an observer adds to the cheapest op",
                          "torch's profiler (kineto), CPU activities, in C++",
                          {{"monitor_over_kineto", 0.05}, {"ops_over_kineto", 0.6}},
                          40};

enum Way {
  kNothing,
  kEmpty,
  kEmptyInputs,
  kEmptyOutputs,
  kMonitor,
  kOps,
  kKineto,
  kKinetoShapes,
  kWays
};
/// The calling thread's CPU time, so that other work on its core does not count.
double threadNs() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// ns for each op: the median over batches, so that neither interrupts count nor an observer's
/// occasional costs, such as kineto's next block.
template <typename Op>
double timeOps(int count, Op&& op) {
  constexpr int kBatches = 20;
  for (int i = 0; i < count / 10; ++i) op();
  std::vector<double> batches;
  const int size = count / kBatches;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double begin = threadNs();
    for (int i = 0; i < size; ++i) op();
    batches.push_back((threadNs() - begin) / size);
  }
  std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
  return batches[kBatches / 2];
}

double underEmptyCallback(Way way, const std::function<double()>& time) {
  const auto begin = [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
    return nullptr;
  };
  const auto end = [](const at::RecordFunction&, at::ObserverContext*) {};
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                                                .needsInputs(way != kEmpty)
                                                .needsOutputs(way == kEmptyOutputs)
                                                .scopes({at::RecordScope::FUNCTION}));
  const double result = time();
  at::removeCallback(handle);
  return result;
}

/// The probe as in the worker, without the sampler. Its frames are discarded.
double underProbe(events::ProbeLevel level, const std::function<double()>& time) {
  probe::Recorder recorder(RunClock::startingNow());
  recorder.setLevel(level);
  probe::FrameWriter writer(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  probe::Sender sender(recorder, writer);
  sender.start();
  double result = 0;
  {
    const probe::OpObserver observer(recorder);
    result = time();
  }
  sender.stop();
  return result;
}

double underKineto(bool shapes, const std::function<double()>& time) {
  using namespace torch::autograd::profiler;
  const ProfilerConfig config(ProfilerState::KINETO, shapes);
  const std::set<ActivityType> activities{ActivityType::CPU};
  prepareProfiler(config, activities);
  enableProfiler(config, activities);
  const double result = time();
  (void)disableProfiler();
  return result;
}

double measureWay(Way way, const std::function<double()>& time) {
  switch (way) {
    case kEmpty:
    case kEmptyInputs:
    case kEmptyOutputs:
      return underEmptyCallback(way, time);
    case kMonitor:
      return underProbe(events::ProbeLevel::Monitor, time);
    case kOps:
      return underProbe(events::ProbeLevel::Ops, time);
    case kKineto:
    case kKinetoShapes:
      return underKineto(way == kKinetoShapes, time);
    default:
      return time();
  }
}

using Round = std::array<double, kWays>;

enum class Timed { kOrdinary, kWatched };

std::function<double()> timing(Timed which, int ops) {
  const at::Tensor target = at::zeros({1}), one = at::ones({1});
  if (which == Timed::kOrdinary) {
    return [=] { return timeOps(ops, [&] { target.add_(one); }); };
  }
  return [=] { return timeOps(ops, [&] { target.copy_(one); }); };
}

Round measureRound(const std::function<double()>& time, int first) {
  Round round{};
  for (int i = 0; i < kWays; ++i) {
    const auto way = static_cast<Way>((first + i) % kWays);
    round[way] = measureWay(way, time);
  }
  return round;
}

constexpr const char* kOrdinaryOp = "add_, 1 element, CPU";
constexpr const char* kWatchedOp = "copy_, 1 element, CPU";

bench::Row added(const std::vector<Round>& rounds, Way way, const char* name,
                 const char* op = kOrdinaryOp) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(round[way] - round[kNothing]);
  return {name, op, "ns", bench::estimate(values)};
}

bench::Row over(const std::vector<Round>& rounds, Way way, Way peer, const char* name,
                const char* op = kOrdinaryOp) {
  std::vector<double> values;
  for (const Round& round : rounds) {
    const double cost = round[peer] - round[kNothing];
    if (cost > 0) values.push_back((round[way] - round[kNothing]) / cost);
  }
  return {name, op, "×", bench::estimate(values)};
}

std::vector<Round> measureRounds(Timed which, int count, int ops) {
  const auto time = timing(which, ops);
  (void)measureRound(time, 0);
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) rounds.push_back(measureRound(time, i));
  return rounds;
}

void measure(int count, int ops, bench::Report& report) {
  const std::vector<Round> rounds = measureRounds(Timed::kOrdinary, count, ops);
  const std::vector<Round> watched = measureRounds(Timed::kWatched, count, ops);
  std::vector<double> bare;
  for (const Round& round : rounds) bare.push_back(round[kNothing]);
  report.rows = {
      {"bare_op", kOrdinaryOp, "ns", bench::estimate(bare)},
      added(rounds, kEmpty, "empty_callback_adds"),
      added(rounds, kEmptyInputs, "empty_callback_with_inputs_adds"),
      added(rounds, kEmptyOutputs, "empty_callback_with_outputs_too_adds"),
      added(rounds, kMonitor, "monitor_adds"),
      added(rounds, kOps, "ops_adds"),
      added(rounds, kKineto, "kineto_adds"),
      added(rounds, kKinetoShapes, "kineto_with_shapes_adds"),
      over(rounds, kMonitor, kKineto, "monitor_over_kineto"),
      over(rounds, kOps, kKineto, "ops_over_kineto"),
      over(rounds, kOps, kKinetoShapes, "ops_over_kineto_with_shapes"),
      added(watched, kEmptyInputs, "empty_callback_adds_to_watched_op", kWatchedOp),
      added(watched, kMonitor, "monitor_adds_to_watched_op", kWatchedOp),
      added(watched, kOps, "ops_adds_to_watched_op", kWatchedOp),
      added(watched, kKineto, "kineto_adds_to_watched_op", kWatchedOp),
      over(watched, kMonitor, kKineto, "monitor_over_kineto_of_watched_op", kWatchedOp),
  };
}

}  // namespace

int main(int argc, char** argv) {
  bench::Harness harness(kBench);
  int ops = 5000;  // few enough for every queue, kineto's too
  harness.options()
      .add_option("--ops", ops, "Ops in one measurement")
      ->check(CLI::Range(100, 20'000));
  return harness.run(argc, argv,
                     [&](bench::Report& report) { measure(harness.rounds(), ops, report); });
}
