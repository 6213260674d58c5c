#include <algorithm>
#include <cmath>

#include "analysis/findings/finding_rules.h"
#include "analysis/machine_summary.h"
#include "analysis/statistics.h"
#include "core/names.h"
#include "core/power_state.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

std::string secondsText(std::int64_t ns) {
  return formatDecimals(static_cast<double>(ns) / kNsPerS, 1) + " s";
}

/// The median times of the steps that began while the machine was slowed down, and of the others,
/// in ms. Steps of another shape than the last one do not count.
struct SlowedSteps {
  std::size_t slowed = 0, others = 0;
  double slowedMs = 0, othersMs = 0;

  [[nodiscard]] bool comparable() const { return slowed >= kLeastSteps && others >= kLeastSteps; }
  /// The share of a slowed step, 0 to 1, that it would not have taken otherwise.
  [[nodiscard]] double lostShare() const {
    return comparable() && slowedMs > 0 ? std::clamp(1 - othersMs / slowedMs, 0.0, 1.0) : 0;
  }
};

/// `isSlowed` tells by the row of a machine sample.
template <typename F>
SlowedSteps slowedSteps(const CheckedSteps& steps, F&& isSlowed) {
  const auto& times = steps.store.machine().timesNs;
  const events::StepRecord& last = steps.records.back();
  std::vector<double> slowed, others;
  for (const events::StepRecord& step : steps.records) {
    if (step.batch_size() != last.batch_size() ||
        step.sequence_length() != last.sequence_length()) {
      continue;
    }
    const auto after = std::upper_bound(times.begin(), times.end(), step.begin_ns());
    if (after == times.begin()) continue;
    const bool slow = isSlowed(static_cast<std::size_t>(after - times.begin() - 1));
    (slow ? slowed : others).push_back(static_cast<double>(step.duration_ns()) / kNsPerMs);
  }
  return {slowed.size(), others.size(), medianOf(slowed), medianOf(others)};
}

/// Whether the recording was made on a Mac; this program may run elsewhere.
bool isOfMac(const LiveStore& store) {
  return store.hello() && store.hello()->platform.starts_with("macOS");
}

std::string comparisonText(const SlowedSteps& steps) {
  if (!steps.comparable()) return {};
  return "; a step took " + formatMs(steps.slowedMs) + " then (median of " +
         std::to_string(steps.slowed) + ") and " + formatMs(steps.othersMs) + " otherwise (of " +
         std::to_string(steps.others) + ')';
}

}  // namespace

void findThermalState(const CheckedSteps& steps, Findings& findings) {
  const MachineSummary machine = summarizeMachine(steps.store, steps.firstToLast());
  const double share = machine.shareFrom(events::ThermalState::Serious);
  if (share < kLeastSlowedShare) return;
  const auto nsOf = [&machine](events::ThermalState state) {
    return machine.thermalNs[static_cast<std::size_t>(state)];
  };
  const std::int64_t hotNs =
      nsOf(events::ThermalState::Serious) + nsOf(events::ThermalState::Critical);
  const auto& states = steps.store.machine().thermal;
  const SlowedSteps compared = slowedSteps(
      steps, [&states](std::size_t row) { return states[row] >= events::ThermalState::Serious; });
  Finding finding = steps.ofWeight(FindingKind::ThermalState, share * compared.lostShare());
  finding.title = "Hot machine: thermal state " + std::string(thermalStateName(machine.hottest())) +
                  ", in which macOS slows processors and GPU down, for " + secondsText(hotNs) +
                  " of these steps";
  for (const auto state : {events::ThermalState::Nominal, events::ThermalState::Fair,
                           events::ThermalState::Serious, events::ThermalState::Critical}) {
    if (nsOf(state) == 0) continue;
    finding.evidence += (finding.evidence.empty() ? "" : ", ") +
                        std::string(thermalStateName(state)) + ' ' + secondsText(nsOf(state));
  }
  finding.evidence += comparisonText(compared);
  finding.advice =
      "compare these times only with runs in the same thermal state: let the machine cool down "
      "between measurements, and give it air. A training that lasts longer runs at the hot times";
  findings.found.push_back(std::move(finding));
}

void findLowPowerMode(const CheckedSteps& steps, Findings& findings) {
  const MachineSummary machine = summarizeMachine(steps.store, steps.firstToLast());
  const double share = machine.lowPowerShare().value_or(0);
  if (share < kLeastSlowedShare) return;
  const auto& modes = steps.store.machine().power;
  const SlowedSteps compared = slowedSteps(
      steps, [&modes](std::size_t row) { return modes[row] == events::PowerMode::Low; });
  Finding finding = steps.ofWeight(FindingKind::LowPowerMode, share * compared.lostShare());
  const std::int64_t lowNs = machine.powerNs[static_cast<std::size_t>(events::PowerMode::Low)];
  finding.title = share == 1 ? std::string(
                                   "Low Power Mode is on: the system slows processors and "
                                   "GPU down to save energy")
                             : "Low Power Mode was on for " + secondsText(lowNs) +
                                   " of these steps: the system slows processors and GPU down";
  finding.evidence = "for " + std::to_string(std::lround(100 * share)) + " % of the time" +
                     comparisonText(compared);
  finding.advice = "turn it off to train at full speed (" +
                   std::string(lowPowerSettings(isOfMac(steps.store))) +
                   "), and compare times only with runs in the same mode";
  findings.found.push_back(std::move(finding));
}

}  // namespace highwater::analysis
