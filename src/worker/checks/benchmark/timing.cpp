#include "worker/checks/benchmark/timing.h"

#include <algorithm>
#include <chrono>

namespace highwater::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kFewestWarmUpCalls = 3;
constexpr double kWarmUpMs = 300;  // clocks rise, caches and the allocator's heaps fill
constexpr std::uint32_t kFewestRounds = 3;
constexpr double kLongMs = 20'000;

double msSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Measurement measure(const TimedProgram& program, std::uint32_t calls) {
  program.synchronize();
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < calls; ++i) program.call();
  const double submittedMs = msSince(begin);
  program.synchronize();
  return {submittedMs, msSince(begin)};
}

void warmUp(const TimedProgram& program, std::uint32_t calls, TimedSide& side) {
  const std::uint32_t most = std::max(calls, kFewestWarmUpCalls);
  const auto begin = Clock::now();
  side.firstMs = measure(program, 1).doneMs;
  side.warmUpCalls = 1;
  while (side.warmUpCalls < kFewestWarmUpCalls ||
         (side.warmUpCalls < most && msSince(begin) < kWarmUpMs)) {
    (void)measure(program, 1);
    ++side.warmUpCalls;
  }
}

}  // namespace

Timing timePrograms(const TimedProgram& a, const TimedProgram& b, const TimingPlan& plan,
                    const std::function<void(std::uint32_t, std::uint32_t)>& progress) {
  Timing timing;
  const std::uint32_t all = 4 * plan.rounds;
  progress(0, all);
  warmUp(a, plan.calls, timing.a);
  warmUp(b, plan.calls, timing.b);
  std::uint32_t done = 0;
  const auto begin = Clock::now();
  const auto run = [&](const TimedProgram& program, TimedSide& side) {
    progress(done++, all);
    side.measurements.push_back(measure(program, plan.calls));
  };
  for (std::uint32_t round = 0; round < plan.rounds; ++round) {
    if (!plan.allRounds && round >= kFewestRounds && msSince(begin) > kLongMs) break;
    run(a, timing.a);
    run(b, timing.b);
    run(b, timing.b);
    run(a, timing.a);
  }
  return timing;
}

}  // namespace highwater::worker
