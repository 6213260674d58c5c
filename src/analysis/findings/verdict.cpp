#include "analysis/findings/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "analysis/account/time_account.h"
#include "analysis/device/device_work.h"
#include "analysis/device/host_timeline.h"
#include "analysis/device/idle_estimate.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/statistics.h"
#include "analysis/whole_steps.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// The share of a step, 0 to 1, for which the device must probably be busy to be the bottleneck:
/// less than a fifth is left to be had then, which is also kLeastIdleShare. Surely it must be for
/// kLeastBusyShare; or may be, where the host waits for it, for this one.
constexpr double kBusyShare = 1 - kLeastIdleShare;
constexpr double kLeastProbablyBusyShare = 0.5;
/// A device that may be busy for more than this share of a step, 0 to 1, says nothing of the host.
constexpr double kHardlyBusy = 0.9;
/// The share of the time, 0 to 1, that steps must have to be what a verdict is about.
constexpr double kLeastStepsShare = 0.5;
/// How many times as long as a step the time to the begin of the next may be, where it counts.
constexpr double kMostWindow = 1.5;
/// The most steps that are looked at.
constexpr std::size_t kMostSteps = 500;

/// The device's idle time as shares of the steps' time, 0 to 1.
struct IdleShare {
  double low = 0, probable = 0, high = 1;
  [[nodiscard]] bool isKnown() const { return high - low <= kUnknownIdleShare; }
};

/// Of steps that follow each other: what lies between two of them, such as a pause or an
/// evaluation, is no time of a step.
IdleShare idleShareOf(const LiveStore& store, std::span<const events::StepRecord> steps) {
  const TimeRange range{steps.front().begin_ns(), endNsOf(steps.back())};
  // Without two waits nothing tells when the device worked, and all of the run would be searched.
  if (possibleDrains(store, range, 2) < 2) return {};
  const IdleSummary idle = estimateIdle(store, steps.front().step(), steps.back().step());
  IdleTime sum;
  double ms = 0;
  auto record = steps.begin();
  for (const StepIdle& each : idle.steps) {
    while (record != steps.end() && record->step() < each.step) ++record;
    if (record == steps.end()) break;
    if (each.ms > kMostWindow * toMs(record->duration_ns())) continue;
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

/// The region that takes the most time of `allNs`, but for steps, pauses and Highwater's own work,
/// without the waits in it for what steps have queued.
std::string largestOther(const TimeAccount& account, double allNs, double drainsNs) {
  Region largest = Region::BetweenSteps;
  for (std::size_t i = 0; i < kRegions; ++i) {
    const auto each = static_cast<Region>(i);
    const bool counts = each != Region::Step && each != Region::Pause && each != Region::Highwater;
    if (counts && account.nsIn(each) > account.nsIn(largest)) largest = each;
  }
  return std::string(regionName(largest)) + ' ' +
         percentText(std::max(static_cast<double>(account.nsIn(largest)) - drainsNs, 0.0) / allNs);
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
  const bool isPhase = most->first.phase != events::Phase::None || most->first.name != kNoId;
  return std::string("; the host's longest work is ") + (isPhase ? "" : "what it does ") +
         partText(steps.store, most->first) + ", " +
         percentText(static_cast<double>(most->second) / stepsNs);
}

/// The verdict that the device is the bottleneck because of `reason`, with its largest work.
Verdict deviceVerdict(const LiveStore& store, const std::string& reason,
                      std::string_view how = "") {
  const std::string work = largestWorkText(estimateDeviceWork(store));
  return {Bottleneck::kDevice, "The device is " + std::string(how) + "the bottleneck: " + reason +
                                   "." + (work.empty() ? "" : " " + work)};
}

/// A device that keeps up has less than this many steps' work to do when the host begins to wait.
constexpr double kMostStepsLeft = 2;
/// A device that is the slower one still has this part of the steps' time to do when they are over.
constexpr double kLeastDrained = 0.5;
/// Waits in more than this share of the steps, 0 to 1, leave no room for a backlog.
constexpr double kRareWaits = 0.25;

/// How far the device was behind the host, where it was so at most of the waits: in steps that are
/// alike the backlog only grows if the device is the slower one. Empty where it was not, where many
/// steps wait, and where a single wait tells, unless that takes most of the steps' time.
std::string backlogText(const LiveStore& store, std::span<const events::StepRecord> steps) {
  const auto waitNsOf = [&store](const events::StepRecord& step) {
    return store.syncLane().summedNs(step.begin_ns(), endNsOf(step));
  };
  double ownNs = 0;  // the mean: a host that is stopped by a full queue has quick steps as well
  for (const events::StepRecord& each : steps) {
    ownNs += static_cast<double>(each.duration_ns() - waitNsOf(each));
  }
  ownNs /= static_cast<double>(steps.size());
  std::vector<double> backlogs;
  double allNs = 0;
  for (const events::StepRecord& each : steps) {
    allNs += static_cast<double>(each.duration_ns());
    const std::int64_t waitNs = waitNsOf(each);
    // A step that does much else before it waits may have queued more than the others.
    const bool isLikeOthers =
        static_cast<double>(each.duration_ns() - waitNs) <= kMostStepsLeft * ownNs;
    if (waitNs > kNearZeroWaitNs && isLikeOthers) backlogs.push_back(static_cast<double>(waitNs));
  }
  const auto mostWaits = kRareWaits * static_cast<double>(steps.size());
  if (backlogs.empty() || static_cast<double>(backlogs.size()) > mostWaits) return {};
  if (backlogs.size() == 1 && 2 * backlogs.front() < allNs) return {};
  const double medianNs = medianOf(std::move(backlogs));
  if (medianNs <= kMostStepsLeft * ownNs) return {};
  return "where the host waits, in few of the steps, the device is " +
         formatDuration(std::llround(medianNs)) + " behind";
}

/// Whether the device keeps up with the host: it had done everything at some time from the last
/// tenth of `newest` on, and since their begin the host has waited for it for hardly any time.
/// Before such a wait nothing tells.
bool keepsUp(const LiveStore& store, std::span<const events::StepRecord> newest, double stepsNs) {
  if (!mayDrainNearEnd(store, newest)) return false;
  const TimeAccount all =
      accountTime(store, TimeRange{newest.front().begin_ns(), wholeRun(store).endNs});
  const std::int64_t waitNs =
      all.nsWhere([](const AccountRow& row) { return row.activity == Activity::Wait; });
  return static_cast<double>(waitNs) <= kHardlyWaits * stepsNs;
}

/// Why the waits do not tell how busy the device is, and what would.
std::string unknownText(const LiveStore& store, const IdleShare& idle) {
  if (idle.low > 0 || idle.high < 1) {
    return "by the host's waits the device is busy for " + rangeText(1 - idle.high, 1 - idle.low) +
           " of a step.";
  }
  return std::string("no wait of the host tells how far behind the device is.") +
         (store.steps().lastLossRow ? "" : " A read of the loss every 20 steps would.");
}

}  // namespace

bool mayDrainNearEnd(const LiveStore& store, std::span<const events::StepRecord> steps) {
  const events::StepRecord& nearlyLast = steps[steps.size() - 1 - steps.size() / 10];
  return possibleDrains(store, {nearlyLast.begin_ns(), wholeRun(store).endNs}, 1) > 0;
}

std::string_view bottleneckKey(Bottleneck bottleneck) {
  constexpr std::array<std::string_view, 5> kKeys = {"unknown", "device", "host", "turns",
                                                     "outside_steps"};
  return kKeys[static_cast<std::size_t>(bottleneck)];
}

Verdict earlyVerdict(const LiveStore& store) {
  const std::string work = largestWorkText(estimateDeviceWork(store));
  if (work.empty()) return {};
  return {Bottleneck::kUnknown, "The device has done too few steps for a verdict. " + work};
}

Verdict verdictOn(const CheckedSteps& steps) {
  if (!steps.store.hasQueue() || steps.store.isUnobserved()) return {};
  double stepsNs = 0;
  for (const events::StepRecord& each : steps.records) {
    stepsNs += static_cast<double>(each.duration_ns());
  }
  const TimeRange range = steps.firstToLast();
  double allNs = static_cast<double>(range.endNs - range.beginNs);
  if (allNs <= 0 || stepsNs <= 0) return {};
  // Their work ends only in waits that follow them.
  const StepRows rows{steps.firstRow, steps.firstRow + steps.records.size()};
  const std::int64_t untilNs = steps.ofRange ? range.endNs : wholeRun(steps.store).endNs;
  const auto drainsNs = static_cast<double>(drainedNs(steps.store, rows, untilNs));
  const double hostNs = stepsNs;
  if (stepsNs + drainsNs < kLeastStepsShare * allNs) {
    const TimeAccount whole = accountTime(steps.store, range);
    allNs = static_cast<double>(whole.nsOfRun());
    if (stepsNs + drainsNs < kLeastStepsShare * allNs) {
      return {Bottleneck::kOutsideSteps,
              "Most of the time is not spent in steps: from the first to "
              "the last they take " +
                  percentText((stepsNs + drainsNs) / allNs) + ", " +
                  largestOther(whole, allNs, drainsNs) + "."};
    }
  }
  const auto newest = steps.records.last(std::min(steps.records.size(), kMostSteps));
  const TimeAccount account =
      accountTime(steps.store, TimeRange{newest.front().begin_ns(), endNsOf(newest.back())});
  stepsNs = static_cast<double>(account.nsIn(Region::Step));
  if (stepsNs <= 0) return {};
  const double waits = static_cast<double>(account.nsWhere([](const AccountRow& row) {
                         return row.part.region == Region::Step && row.activity == Activity::Wait;
                       })) /
                       stepsNs;
  const std::string hardlyWaits =
      "it waits for the device for " + percentText(waits) + " of a step only";
  const std::string waitsText = "the host waits for it for " + percentText(waits) + " of a step";
  const IdleShare idle = idleShareOf(steps.store, newest);
  const std::string backlog = backlogText(steps.store, newest);
  if (!idle.isKnown()) {
    if (!backlog.empty()) return deviceVerdict(steps.store, backlog);
    // Only at the end is waited for what all the steps have queued.
    const auto drain = steps.ofRange ? std::nullopt : drainAfterSteps(steps.store);
    const double drainNs = drain ? static_cast<double>(drain->endNs - drain->beginNs) : 0;
    if (drainNs > kHardlyWaits * stepsNs && drainNs > 2 * steps.medianMs * kNsPerMs) {
      return deviceVerdict(steps.store, "after the last step the host waits for " +
                                            formatDuration(drain->endNs - drain->beginNs) +
                                            " until what the steps have queued is done");
    }
    if (drainsNs > kLeastDrained * hostNs) {
      return deviceVerdict(steps.store, "where the host waits after steps, for " +
                                            formatDuration(std::llround(drainsNs)) +
                                            " in all, until what they have queued is done");
    }
    if (waits > kHardlyWaits || !keepsUp(steps.store, newest, stepsNs)) {
      return {Bottleneck::kUnknown,
              "Whether the host or the device is the bottleneck is not known: " +
                  unknownText(steps.store, idle)};
    }
    return {Bottleneck::kHost, "The host is the bottleneck: " + hardlyWaits +
                                   hostPartText(steps, account, stepsNs) + "."};
  }
  const std::string busyShare = rangeText(1 - idle.high, 1 - idle.low) + " of a step";
  const std::string busyText = "the device is busy for " + busyShare;
  const std::string both = busyText + ", and " + waitsText + ".";
  if (1 - idle.probable >= kBusyShare && 1 - idle.high >= kLeastBusyShare) {
    return deviceVerdict(steps.store, "it is busy for " + busyShare);
  }
  if (idle.probable >= kLeastIdleShare && waits <= kHardlyWaits) {
    return {Bottleneck::kHost,
            "The host is the bottleneck: " + (1 - idle.low > kHardlyBusy ? hardlyWaits : busyText) +
                hostPartText(steps, account, stepsNs) + "."};
  }
  if (idle.probable >= kLeastIdleShare) {
    return {Bottleneck::kTurns, "Host and device take turns: " + both};
  }
  if (!backlog.empty()) return deviceVerdict(steps.store, backlog);
  if (waits > kHardlyWaits && 1 - idle.probable >= kBusyShare &&
      1 - idle.high >= kLeastProbablyBusyShare) {
    return deviceVerdict(steps.store,
                         "it is busy for " + busyShare + ", by the estimate " +
                             percentText(1 - idle.probable) + ", and " + waitsText,
                         "probably ");
  }
  const std::string work = largestWorkText(estimateDeviceWork(steps.store));
  return {Bottleneck::kUnknown, "Either may be the bottleneck: " + busyText + ", and " + waitsText +
                                    hostPartText(steps, account, stepsNs) + "." +
                                    (work.empty() ? "" : " " + work)};
}

}  // namespace highwater::analysis
