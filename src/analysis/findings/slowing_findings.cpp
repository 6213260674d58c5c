#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/account/host_lines.h"
#include "analysis/account/time_account.h"
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
/// How many times as much larger the batches of the last quarter may be.
constexpr double kMostLarger = 1.1;
/// The share of the samples of the part that becomes slower, 0 to 1, that a line must have.
constexpr double kLeastSlowingLineShare = 0.5;

/// The medians of the four quarters of the steps.
using Quarters = std::array<double, 4>;

Quarters quartersOf(const std::vector<double>& values) {
  Quarters medians{};
  for (std::size_t i = 0; i < medians.size(); ++i) {
    const auto from = static_cast<std::ptrdiff_t>(values.size() * i / medians.size());
    const auto to = static_cast<std::ptrdiff_t>(values.size() * (i + 1) / medians.size());
    medians[i] = medianOf({values.begin() + from, values.begin() + to});
  }
  return medians;
}

bool rises(const Quarters& each) {
  return each[0] > 0 && each[1] >= kLeastQuarterRise * each[0] &&
         each[2] >= kLeastQuarterRise * each[1] && each[3] >= kLeastQuarterRise * each[2] &&
         each[3] >= kLeastSlowing * each[0];
}

/// A part of the steps, and how long the host worked in it.
struct SlowingPart {
  Part part;
  Quarters ms{};
  std::vector<TimeRange> lastQuarter;  ///< where it worked in it
  [[nodiscard]] double rise() const { return ms[3] - ms[0]; }
};

/// The part of the steps in which the host's own work rises most.
std::optional<SlowingPart> slowingPartOf(const CheckedSteps& steps) {
  struct Times {
    std::vector<double> ms;
    std::vector<TimeRange> lastQuarter;
  };
  const std::size_t count = steps.records.size();
  std::map<Part, Times> parts;
  walkAccount(steps.store, steps.firstToLast(), [&](const AccountSpan& span) {
    const std::size_t step = span.row - steps.firstRow;
    if (span.part.region != Region::Step || span.activity != Activity::Work || step >= count)
      return;
    Times& times = parts[span.part];
    times.ms.resize(count);
    times.ms[step] += toMs(span.ns());
    if (step >= count / 4 * 3) times.lastQuarter.push_back({span.beginNs, span.endNs});
  });
  std::optional<SlowingPart> most;
  for (auto& [part, times] : parts) {
    SlowingPart each{part, quartersOf(times.ms), std::move(times.lastQuarter)};
    if (!most || each.rise() > most->rise()) most = std::move(each);
  }
  return most;
}

/// Whether the steps' batches stay as large as they were.
bool keepsItsSize(const CheckedSteps& steps) {
  std::vector<double> sizes;
  for (const events::StepRecord& each : steps.records) {
    sizes.push_back(static_cast<double>(each.batch_size()) *
                    std::max(static_cast<double>(each.sequence_length()), 1.0));
  }
  const Quarters quarters = quartersOf(sizes);
  return quarters[3] <= kMostLarger * quarters[0];
}

/// The line that most of the part's host samples are at; empty if no line has so many.
std::string lineOf(const CheckedSteps& steps, const SlowingPart& slowing) {
  const std::vector<HostLine> lines = hostLines(steps.store, slowing.lastQuarter);
  if (lines.empty() || lines.front().share < kLeastSlowingLineShare) return {};
  return lines.front().site.line;
}

/// The medians of the step times, in ms.
Quarters stepMsOf(const CheckedSteps& steps) {
  std::vector<double> ms;
  for (const events::StepRecord& each : steps.records) ms.push_back(toMs(each.duration_ns()));
  return quartersOf(ms);
}

}  // namespace

bool becomeSlower(const CheckedSteps& steps) {
  return rises(stepMsOf(steps)) && keepsItsSize(steps);
}

void findSlowingSteps(const CheckedSteps& steps, Findings& findings) {
  // What keeps memory makes steps slower as well, and is found by that.
  if (steps.records.size() < kLeastSlowingSteps || hasKind(findings, FindingKind::MemoryGrowth)) {
    return;
  }
  if (!becomeSlower(steps)) return;
  const Quarters ms = stepMsOf(steps);
  const std::optional<SlowingPart> slowing = slowingPartOf(steps);
  if (!slowing || !rises(slowing->ms) || 2 * slowing->rise() < ms[3] - ms[0]) return;
  // A machine that has less time for the script slows all that it does.
  const double otherRise = (ms[3] - slowing->ms[3]) / std::max(ms[0] - slowing->ms[0], 1e-3);
  if (slowing->ms[3] / slowing->ms[0] < kLeastSlowing * std::max(otherRise, 1.0)) return;

  std::int64_t allNs = 0;
  for (const events::StepRecord& each : steps.records) allNs += each.duration_ns();
  const double lostMs = steps.perStepMs(allNs) - ms[0];
  const auto& run = steps.store.run();
  const CodeSign* hooks = run ? run->sign(kPiledHooksSign) : nullptr;
  const std::string part = partText(steps.store, slowing->part);
  // Of time that grows evenly from nothing, the first quarter's median has an eighth, and the
  // mean, over that, three eighths; two thirds more than that may have been there at the begin.
  const Gain gain{lostMs / 2, lostMs * 4 / 3, lostMs * 5 / 3};
  Finding finding = steps.ofTime(FindingKind::SlowingSteps, gain.high);
  finding.estimate = true;
  finding.where = part;
  finding.line = hooks ? hooks->line : lineOf(steps, *slowing);
  finding.title = "Steps become slower and slower: " + formatMs(ms[0]) + " at first, " +
                  formatMs(ms[3]) + " at the end" +
                  (hooks ? ", as hooks pile up" : ", most of it " + part);
  finding.evidence =
      "medians of the first and the last quarter of the steps; the host's own work " +
      std::string(slowing->part.phase == events::Phase::None ? "" : "in ") + part + " takes " +
      formatMs(slowing->ms[0]) + ", then " + formatMs(slowing->ms[3]);
  const std::string at = finding.line.empty() ? "" : "at " + finding.line + ": ";
  if (hooks) {
    finding.evidence += "; each step adds " + hooks->text + " hooks, the newest of which is at " +
                        hooks->line + ", and runs those of all steps before";
    finding.advice = at +
                     "register the hook once, before the training, or remove it after its step "
                     "(the handle's remove())";
  } else {
    finding.advice = at +
                     "look for what each step adds to, and the next one goes through again: hooks "
                     "that are registered in the loop, a list of all losses that is summed up, a "
                     "graph that reaches back to the steps before (detach() what is kept)";
  }
  steps.gains.add(findings, std::move(finding), gain);
}

}  // namespace highwater::analysis
