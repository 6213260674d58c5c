#include "process/work_start.h"

#include <ATen/detail/MPSHooksInterface.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string_view>
#include <thread>

#include "core/sim_knobs.h"
#include "process/queue_load.h"

namespace highwater::process {
namespace {

constexpr double kLoadMs = 20;
constexpr int kStartTrials = 3;
/// Sleeps so many times as long as the work takes; twice that in each further trial, for a machine
/// whose cores are busy.
constexpr double kSleep = 1.5;
/// Shares of the work's time that synchronize() takes: up to kEager the work had run before, from
/// kDeferred on most of it had not begun.
constexpr double kEager = 0.2;
constexpr double kDeferred = 0.5;

}  // namespace

WorkStartMeasurement measureWorkStart() {
  using Clock = std::chrono::steady_clock;
  using Ms = std::chrono::duration<double, std::milli>;
  const auto& hooks = at::detail::getMPSHooks();
  WorkStartMeasurement found;
  {
    QueueLoad load(kLoadMs);
    found.loadMs = load.ms();
    found.products = load.count();
    found.restMs = std::numeric_limits<double>::max();
    double sleepMs = found.loadMs * kSleep;
    while (found.trials < kStartTrials && found.restMs > kEager * found.loadMs) {
      load.submit();
      std::this_thread::sleep_for(Ms(sleepMs));
      const auto begin = Clock::now();
      hooks.deviceSynchronize();
      found.restMs = std::min(found.restMs, Ms(Clock::now() - begin).count());
      ++found.trials;
      sleepMs *= 2;
    }
  }
  hooks.emptyCache();
  if (found.restMs <= kEager * found.loadMs) {
    found.start = WorkStart::kEager;
  } else if (found.restMs >= kDeferred * found.loadMs) {
    found.start = WorkStart::kDeferred;
  }
  return found;
}

WorkStart knownWorkStart(const DeviceReport& device) {
  if (device.selected == "cuda") return WorkStart::kEager;
  if (!device.simulated) return WorkStart::kUnknown;
  const char* mode = std::getenv(kSimCommitVariable);
  const bool deferred = mode && std::string_view(mode).starts_with("deferred");
  return deferred ? WorkStart::kDeferred : WorkStart::kEager;
}

WorkStart findWorkStart(const DeviceReport& device) {
  if (device.simulated || device.selected != "mps") return knownWorkStart(device);
  try {
    return measureWorkStart().start;
  } catch (const std::exception&) {
    return WorkStart::kUnknown;  // the training will meet the error and report it
  }
}

}  // namespace highwater::process
