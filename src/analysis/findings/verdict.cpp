#include "analysis/findings/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/account/time_account.h"
#include "analysis/device/idle_estimate.h"
#include "analysis/findings/finding_rules.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// The share of a step, 0 to 1, for which the device must probably be busy to be the bottleneck:
/// less than a fifth is left to be had then, which is also kLeastIdleShare. And for which it must
/// surely be.
constexpr double kBusyShare = 1 - kLeastIdleShare, kLeastBusyShare = 0.7;
/// Up to this share of a step, 0 to 1, the host hardly waits.
constexpr double kHardlyWaits = 0.1;
/// A device that may be busy for more than this share of a step, 0 to 1, says nothing of the host.
constexpr double kHardlyBusy = 0.9;
/// The share of the time, 0 to 1, that steps must have to be what a verdict is about.
constexpr double kLeastStepsShare = 0.5;
/// Bounds that are further apart than this share of a step, 0 to 1, tell nothing.
constexpr double kUnknownShare = 0.9;
/// The most steps that are looked at.
constexpr std::size_t kMostSteps = 500;

/// The device's idle time as shares of the steps' time, 0 to 1.
struct IdleShare {
  double low = 0, probable = 0, high = 1;
  [[nodiscard]] bool isKnown() const { return high - low <= kUnknownShare; }
};

IdleShare idleShareOf(const CheckedSteps& steps) {
  const std::size_t count = std::min(steps.records.size(), kMostSteps);
  const IdleSummary idle = estimateIdle(
      steps.store, steps.records[steps.records.size() - count].step(), steps.records.back().step());
  IdleTime sum;
  double ms = 0;
  for (const StepIdle& each : idle.steps) {
    sum += each.total;
    ms += each.ms;
  }
  if (ms <= 0) return {};
  return {sum.low / ms, sum.probable / ms, std::min(sum.high / ms, 1.0)};
}

std::string rangeText(double low, double high) {
  const long from = std::lround(100 * low), to = std::lround(100 * high);
  return from == to ? std::to_string(to) + " %"
                    : std::to_string(from) + " to " + std::to_string(to) + " %";
}

/// The region that takes the most time, but for the steps.
std::string largestOther(const TimeAccount& account) {
  Region largest = Region::BetweenSteps;
  for (std::size_t i = 0; i < kRegions; ++i) {
    const auto each = static_cast<Region>(i);
    if (each != Region::Step && account.nsIn(each) > account.nsIn(largest)) largest = each;
  }
  const auto ns = static_cast<double>(account.range.endNs - account.range.beginNs);
  return std::string(regionName(largest)) + ' ' +
         percentText(static_cast<double>(account.nsIn(largest)) / ns);
}

/// "; the host's longest work is forward, 62 %", of what it does itself.
std::string hostPartText(const CheckedSteps& steps, const TimeAccount& account, double stepsNs) {
  std::map<Part, std::int64_t> parts;
  for (const AccountRow& row : account.rows) {
    const bool isOwn = row.part.region == Region::Step && row.activity == Activity::Work;
    if (isOwn) parts[row.part] += row.ns;
  }
  const auto most = std::max_element(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == parts.end()) return {};
  return "; the host's longest work is " + partText(steps.store, most->first) + ", " +
         percentText(static_cast<double>(most->second) / stepsNs);
}

/// Whether the device was hardly behind when the host waited for it at last, after the steps.
bool keepsUp(const CheckedSteps& steps, double stepsNs) {
  const TimeAccount all =
      accountTime(steps.store, TimeRange{steps.firstToLast().beginNs, wholeRun(steps.store).endNs});
  const std::int64_t waitNs =
      all.nsWhere([](const AccountRow& row) { return row.activity == Activity::Wait; });
  return static_cast<double>(waitNs) <= kHardlyWaits * stepsNs;
}

}  // namespace

std::string_view bottleneckKey(Bottleneck bottleneck) {
  constexpr std::array<std::string_view, 5> kKeys = {"unknown", "device", "host", "turns",
                                                     "outside_steps"};
  return kKeys[static_cast<std::size_t>(bottleneck)];
}

Verdict verdictOn(const CheckedSteps& steps) {
  if (!steps.store.hasQueue() || isUnobserved(steps.store)) return {};
  const TimeAccount account = accountTime(steps.store, steps.firstToLast());
  const auto allNs = static_cast<double>(account.range.endNs - account.range.beginNs);
  const auto stepsNs = static_cast<double>(account.nsIn(Region::Step));
  if (allNs <= 0 || stepsNs <= 0) return {};
  if (stepsNs < kLeastStepsShare * allNs) {
    return {Bottleneck::kOutsideSteps, "Most of the time is not spent in steps: they take " +
                                           percentText(stepsNs / allNs) + ", " +
                                           largestOther(account) + "."};
  }
  const double waits = static_cast<double>(account.nsWhere([](const AccountRow& row) {
                         return row.part.region == Region::Step && row.activity == Activity::Wait;
                       })) /
                       stepsNs;
  const std::string hardlyWaits =
      "it waits for the device for " + percentText(waits) + " of a step only";
  const std::string waitsText = "the host waits for it for " + percentText(waits) + " of a step";
  const IdleShare idle = idleShareOf(steps);
  if (!idle.isKnown()) {
    if (waits > kHardlyWaits || !keepsUp(steps, stepsNs)) return {};
    return {Bottleneck::kHost, "The host is the bottleneck: " + hardlyWaits +
                                   hostPartText(steps, account, stepsNs) + "."};
  }
  const std::string busyText =
      "the device is busy for " + rangeText(1 - idle.high, 1 - idle.low) + " of a step";
  const std::string both = busyText + ", and " + waitsText + ".";
  if (1 - idle.probable >= kBusyShare && 1 - idle.high >= kLeastBusyShare) {
    return {Bottleneck::kDevice, "The device is the bottleneck: it is" +
                                     busyText.substr(std::string_view("the device is").size()) +
                                     "."};
  }
  if (idle.probable >= kLeastIdleShare && waits <= kHardlyWaits) {
    return {Bottleneck::kHost,
            "The host is the bottleneck: " + (1 - idle.low > kHardlyBusy ? hardlyWaits : busyText) +
                hostPartText(steps, account, stepsNs) + "."};
  }
  if (idle.probable >= kLeastIdleShare) {
    return {Bottleneck::kTurns, "Host and device take turns: " + both};
  }
  return {Bottleneck::kUnknown, "Either may be the bottleneck: " + both};
}

}  // namespace highwater::analysis
