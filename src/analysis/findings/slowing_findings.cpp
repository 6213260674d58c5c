#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/account/time_account.h"
#include "analysis/device/device_work.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// The fewest steps whose quarters show a trend.
constexpr std::size_t kLeastSlowingSteps = 40;
/// How many times as long each quarter must take as the one before: a machine that is busy for a
/// while makes one longer, not each.
constexpr double kLeastQuarterRise = 1.05;

/// The medians of N equal parts of the steps, in their order.
template <std::size_t N>
std::array<double, N> mediansOf(const std::vector<double>& values) {
  std::array<double, N> medians{};
  for (std::size_t i = 0; i < medians.size(); ++i) {
    const auto from = static_cast<std::ptrdiff_t>(values.size() * i / medians.size());
    const auto to = static_cast<std::ptrdiff_t>(values.size() * (i + 1) / medians.size());
    medians[i] = medianOf({values.begin() + from, values.begin() + to});
  }
  return medians;
}

using Quarters = std::array<double, 4>;

Quarters quartersOf(const std::vector<double>& values) {
  return mediansOf<4>(values);
}

bool rises(const Quarters& each) {
  return each[0] > 0 && each[1] >= kLeastQuarterRise * each[0] &&
         each[2] >= kLeastQuarterRise * each[1] && each[3] >= kLeastQuarterRise * each[2] &&
         each[3] >= kLeastSlowing * each[0];
}

/// Whether most of the rise happens at once, between two of a few parts of the steps: where the
/// host runs ahead until the device's queue is full, from there on each step takes as long as the
/// device has for it. What grows with the steps rises in many places.
bool jumps(const std::vector<double>& values) {
  constexpr double kJump = 0.75;
  const auto medians = mediansOf<8>(values);
  // Over two parts: that in which it happens may lie between.
  double largest = 0;
  for (std::size_t i = 2; i < medians.size(); ++i) {
    largest = std::max(largest, medians[i] - medians[i - 2]);
  }
  return largest > kJump * (medians.back() - medians.front());
}

/// A part of the steps, and how long the host worked in it.
struct SlowingPart {
  Part part;
  Quarters ms{};
  [[nodiscard]] double rise() const { return ms[3] - ms[0]; }
  /// Whether it is most of what the steps' medians rise by.
  [[nodiscard]] bool isMostOf(const Quarters& all) const {
    if (!rises(ms) || 2 * rise() < all[3] - all[0]) return false;
    // A machine that has less time for the script slows all that it does.
    const double otherRise = (all[3] - ms[3]) / std::max(all[0] - ms[0], 1e-3);
    return ms[3] / ms[0] >= kLeastSlowing * std::max(otherRise, 1.0);
  }
};

/// The part in the words of PyTorch, whatever names the script gives to its phases.
Part withoutName(Part part) {
  part.name = kNoId;
  return part;
}

/// The part of the steps in which the host's own work rises most.
std::optional<SlowingPart> slowingPartOf(const CheckedSteps& steps) {
  const std::size_t count = steps.records.size();
  std::map<Part, std::vector<double>> parts;
  walkAccount(steps.store, steps.firstToLast(), [&](const AccountSpan& span) {
    const std::size_t step = span.row - steps.firstRow;
    if (span.part.region != Region::Step || span.activity != Activity::Work || step >= count)
      return;
    std::vector<double>& ms = parts[withoutName(span.part)];
    ms.resize(count);
    ms[step] += toMs(span.ns());
  });
  std::optional<SlowingPart> most;
  for (const auto& [part, ms] : parts) {
    const SlowingPart each{part, quartersOf(ms)};
    if (!most || each.rise() > most->rise()) most = each;
  }
  return most;
}

/// Whether the steps' batches stay as large as they were, and the steps have no more phases: with
/// longer episodes of an agent, or more batches that are accumulated, there is more to do.
bool keepsItsSize(const CheckedSteps& steps) {
  std::vector<double> phases(steps.records.size());
  const SpanIndex& lane = steps.store.phaseLane();
  const TimeRange range = steps.firstToLast();
  const std::size_t last = lane.firstFrom(range.endNs);
  for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
    const events::PhaseSpan& phase = steps.store.phases()[lane[i].payload];
    const auto* record = steps.holding(phase.step(), phase.begin_ns());
    if (record) ++phases[static_cast<std::size_t>(record - steps.records.data())];
  }
  const Quarters ofSizes = quartersOf(steps.batchSizes()), ofPhases = quartersOf(phases);
  return ofSizes[3] <= kMostLargerBatch * ofSizes[0] &&
         ofPhases[3] <= kMostLargerBatch * ofPhases[0];
}

/// Says in which part of the steps the time rises, and at which lines.
void nameSlowingPart(const CheckedSteps& steps, const SlowingPart& slowing, Finding& finding) {
  using events::Phase;
  const Part& part = slowing.part;
  const bool runsHooks = part.phase == Phase::Forward || part.phase == Phase::Backward ||
                         part.phase == Phase::OptimizerStep || part.after == Phase::Forward;
  const CodeSign* hooks = runsHooks ? steps.store.sign(kPiledHooksSign) : nullptr;
  const std::string name = partText(steps.store, part);
  finding.where = name;
  finding.title += hooks ? ", as hooks pile up" : ", most of it " + name;
  finding.evidence += "the host's own work " + std::string(part.phase == Phase::None ? "" : "in ") +
                      name + " takes " + formatMs(slowing.ms[0]) + ", then " +
                      formatMs(slowing.ms[3]);
  if (hooks) {
    finding.line = hooks->line;
    finding.evidence += "; each step adds " + hooks->text + " hooks, the newest of which is at " +
                        hooks->line + ", and runs those of all steps before";
    finding.advice = "at " + hooks->line +
                     ": register the hook once, before the training, or remove it after its step "
                     "(the handle's remove())";
    return;
  }
  finding.advice =
      part.phase == Phase::BatchAssembly
          ? "look for what the data set or the collate function does more of with each batch: a "
            "list that it goes through, a file that it reads from the begin, larger samples"
          : "look for what each step adds to, and the next one goes through again: hooks that "
            "are registered in the loop, a list of all losses that is summed up, a graph that "
            "reaches back to the steps before (detach() what is kept)";
  const std::int64_t lastNs = steps.records[steps.records.size() / 4 * 3].begin_ns();
  nameHostLines(
      steps, {lastNs, steps.firstToLast().endNs},
      [&part](const AccountSpan& span) { return withoutName(span.part) == part; }, finding);
}

}  // namespace

bool becomeSlower(const CheckedSteps& steps) {
  if (steps.records.size() < kLeastSlowingSteps) return false;
  const std::vector<double> ms = steps.stepMs();
  return rises(quartersOf(ms)) && !jumps(ms) && keepsItsSize(steps);
}

void findSlowingSteps(const CheckedSteps& steps, Findings& findings) {
  // What keeps memory makes steps slower as well, and is found by that.
  if (hasKind(findings, FindingKind::MemoryGrowth) || !becomeSlower(steps)) return;
  const Quarters ms = quartersOf(steps.stepMs());
  std::int64_t allNs = 0;
  for (const events::StepRecord& each : steps.records) allNs += each.duration_ns();
  const double lostMs = steps.perStepMs(allNs) - ms[0];
  if (lostMs <= 0) return;
  // Where the time rises evenly from nothing at the first step to t at the last, the first
  // quarter's median holds t/8 and the mean t/2: lostMs is 3/8 of t, and all that rose 4/3 of it.
  const Gain gain{lostMs / 2, lostMs * 4 / 3, lostMs * 5 / 3};
  Finding finding = steps.ofTime(FindingKind::SlowingSteps, gain.high);
  finding.estimate = true;
  finding.title = "Steps become slower and slower: " + formatMs(ms[0]) + " at first, " +
                  formatMs(ms[3]) + " at the end";
  finding.evidence = "medians of the first and the last quarter of the steps; ";
  const std::optional<SlowingPart> slowing = slowingPartOf(steps);
  if (slowing && slowing->isMostOf(ms)) {
    nameSlowingPart(steps, *slowing, finding);
  } else if (const std::optional<GrowingWork> growing = growingWork(steps.store)) {
    finding.title += ", as the device's work grows";
    finding.evidence += "by the sizes of the ops ";
    nameGrowingWork(*growing, finding);
  } else {
    return;
  }
  steps.gains.add(findings, std::move(finding), gain);
}

void nameGrowingWork(const GrowingWork& work, Finding& finding) {
  finding.evidence += growingWorkText(work);
  finding.line = work.line().place.site.line;
  finding.where = work.line().place.module;
  const std::string at = finding.line.empty() ? "" : "at " + finding.line + ": ";
  finding.advice =
      at + (work.joined
                ? "the joined tensor becomes longer with the steps: give it a bound "
                  "(buffer = torch.cat(...)[-N:]), or write into one that was made once "
                  "(buffer[i % N] = x)"
                : "it works on more with the steps: look for what each step adds to, such as a "
                  "buffer, a memory of past outputs or a list of parameters, and give it a bound");
}

}  // namespace highwater::analysis
