#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/finding_rules.h"
#include "analysis/idle_estimate.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// What a cause must be of the idle time to be named.
constexpr double kLeastCauseShare = 0.1;

std::string msText(double ms) {
  return formatDuration(static_cast<std::int64_t>(ms * kNsPerMs));
}

std::string boundsText(const IdleTime& idle) {
  return msText(idle.probable) + " (" + msText(idle.low) + " to " + msText(idle.high) + ')';
}

/// When the device starves and by what, as far as that is known.
std::string starvedText(const IdleSummary& idle) {
  if (idle.causes.empty() || idle.p50.probable <= 0) return {};
  std::string text = "; by its waits it starves for about " + boundsText(idle.p50);
  for (const CauseOfIdle& each : idle.causes) {
    if (each.p50.probable < kLeastCauseShare * idle.p50.probable) break;
    text += ", by " + std::string(idleCauseName(each.cause)) + ' ' + msText(each.p50.probable);
  }
  return text;
}

constexpr const char* kBatchAdvice =
    "prepare the next batch on another thread while the device works, or prepare it once and keep "
    "it";

/// How a step's time, its device span and its batch assembly go together, where enough steps have a
/// device span.
struct Assembly {
  std::size_t steps = 0;
  double assemblyMs = 0, starvedMs = 0, lostMs = 0;  ///< medians
};

Assembly assemblyOf(const JudgedSteps& steps) {
  const LiveStore& store = steps.store;
  std::map<std::uint32_t, double> assemblyMs;
  for (const events::PhaseSpan& phase : store.phases()) {
    if (phase.phase() == events::Phase::BatchAssembly) {
      assemblyMs[phase.step()] += static_cast<double>(phase.duration_ns()) / kNsPerMs;
    }
  }
  std::vector<double> assembly, starved, lost;
  for (std::size_t i = 0; i < steps.records.size(); ++i) {
    const double deviceMs = store.steps().deviceMs[steps.firstRow + i];
    if (std::isnan(deviceMs)) continue;
    const double stepMs = static_cast<double>(steps.records[i].duration_ns()) / kNsPerMs;
    assembly.push_back(assemblyMs[steps.records[i].step()]);
    starved.push_back(std::max(stepMs - deviceMs, 0.0));
    lost.push_back(std::min(assembly.back(), starved.back()));
  }
  return {lost.size(), medianOf(assembly), medianOf(starved), medianOf(lost)};
}

void judgeAssembly(const JudgedSteps& steps, const Assembly& assembly, const IdleSummary& idle,
                   Findings& findings) {
  const double least = kLeastStarvedShare * steps.medianMs;
  if (assembly.assemblyMs < least || assembly.starvedMs < least) return;
  Finding finding = steps.ofTime(FindingKind::HostBound, assembly.lostMs);
  finding.estimate = true;
  finding.where = phaseName(events::Phase::BatchAssembly);
  finding.title =
      "Host-bound: the device waits for batch assembly, about " + costText(assembly.lostMs);
  finding.evidence = "batch assembly takes " + costText(assembly.assemblyMs) +
                     ", the device has nothing to do for " + costText(assembly.starvedMs) +
                     " (medians of " + std::to_string(assembly.steps) +
                     " steps; an estimate: step time less device span" + starvedText(idle) + ')';
  finding.advice = kBatchAdvice;
  findings.found.push_back(std::move(finding));
}

/// Of the phases that queue, the one that the host spends most in, and its share of a step.
struct Queued {
  events::Phase phase = events::Phase::Forward;
  double ms = 0;
};

Queued mostQueuedIn(const JudgedSteps& steps) {
  std::map<events::Phase, std::int64_t> ns;
  for (const events::PhaseSpan& each : steps.store.phases()) {
    const auto phase = each.phase();
    const bool queues = phase == events::Phase::Forward || phase == events::Phase::Backward ||
                        phase == events::Phase::OptimizerStep;
    if (queues && steps.holding(each.step(), each.begin_ns())) ns[phase] += each.duration_ns();
  }
  const auto most = std::max_element(
      ns.begin(), ns.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == ns.end() ? Queued{} : Queued{most->first, steps.perStepMs(most->second)};
}

/// What a cause of idle time is to a user.
struct Words {
  IdleCause cause;
  const char *title, *advice;
};
constexpr std::array<Words, 5> kWords = {{
    {IdleCause::BatchAssembly, "the device waits for batch assembly", kBatchAdvice},
    {IdleCause::DeviceMove, "the device waits for the batch to be moved",
     "move the batch in one copy, and the next one while the device still works (non_blocking)"},
    {IdleCause::Reading, "the device waits while values are shown",
     "print and log every few steps, or on another thread"},
    {IdleCause::Queueing, "ops come slower than the device runs them",
     "give the device more to do with each op: a larger batch, fused ops, an optimizer that takes "
     "all parameters at once (foreach); take other work of the host out of the step"},
    {IdleCause::BetweenSteps, "the device waits for what comes between steps",
     "prepare the next batch on another thread; log and save every few steps only"},
}};

std::string whereOf(IdleCause cause, const Queued& queued) {
  switch (cause) {
    case IdleCause::BatchAssembly:
      return std::string(phaseName(events::Phase::BatchAssembly));
    case IdleCause::DeviceMove:
      return std::string(phaseName(events::Phase::DeviceMove));
    case IdleCause::Reading:
      return std::string(phaseName(events::Phase::LossRead));
    case IdleCause::Queueing:
      return queued.ms > 0 ? std::string(phaseName(queued.phase)) : std::string();
    default:
      return std::string(idleCauseName(cause));
  }
}

std::string basisText(std::size_t steps) {
  return " (medians of " + std::to_string(steps) + " steps; an estimate)";
}

/// Of queueing only bounds are known.
std::string queueingText(const JudgedSteps& steps, const IdleTime& idle, std::size_t counted,
                         const Queued& queued) {
  std::string text =
      "when the host came to wait, the device had done all that was queued: it may have been idle "
      "for " +
      msText(idle.low) + " to " + msText(idle.high) + " a step, half is taken" + basisText(counted);
  if (queued.ms > 0) {
    text +=
        "; most is queued in " + std::string(phaseName(queued.phase)) + ", " + costText(queued.ms);
  }
  // Every op that is recorded takes the host a little longer.
  return steps.store.ops().empty() ? text : text + "; recording every op slows the host";
}

void judgeCause(const JudgedSteps& steps, const CauseOfIdle& idle, std::size_t counted,
                Findings& findings) {
  const auto words = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Words& each) { return each.cause == idle.cause; });
  // A fallback is a finding of its own, and an evaluation is no part of the steps.
  if (words == kWords.end()) return;
  const double costMs = idle.p50.probable;
  if (costMs < kLeastStarvedShare * steps.medianMs) return;
  const bool queueing = idle.cause == IdleCause::Queueing;
  const Queued queued = queueing ? mostQueuedIn(steps) : Queued{};
  Finding finding = steps.ofTime(FindingKind::HostBound, costMs);
  finding.estimate = true;
  finding.where = whereOf(idle.cause, queued);
  finding.title = std::string("Host-bound: ") + words->title + ", about " + costText(costMs);
  finding.evidence = queueing ? queueingText(steps, idle.p50, counted, queued)
                              : "by its waits the device has nothing to do for about " +
                                    boundsText(idle.p50) + " a step" + basisText(counted);
  finding.advice = words->advice;
  findings.found.push_back(std::move(finding));
}

}  // namespace

void judgeHost(const JudgedSteps& steps, Findings& findings) {
  if (!steps.store.hasQueue()) return;
  const Assembly assembly = assemblyOf(steps);
  const bool spans = assembly.steps >= kLeastJudgedSteps;
  const bool assembles = assembly.assemblyMs >= kLeastStarvedShare * steps.medianMs;
  // The estimate looks at the whole run.
  if (steps.medianMs < kLeastStarvedStepMs && !assembles) return;
  const IdleSummary idle = estimateIdle(steps.store);
  if (spans) judgeAssembly(steps, assembly, idle, findings);
  if (idle.steps.size() < kLeastJudgedSteps || steps.medianMs < kLeastStarvedStepMs) return;
  for (const CauseOfIdle& each : idle.causes) {
    if (spans && each.cause == IdleCause::BatchAssembly) continue;  // judged by what is measured
    judgeCause(steps, each, idle.steps.size(), findings);
  }
}

}  // namespace highwater::analysis
