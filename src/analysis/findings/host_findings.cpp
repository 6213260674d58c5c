#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "analysis/account/host_lines.h"
#include "analysis/account/memory_growth.h"
#include "analysis/account/time_account.h"
#include "analysis/device/idle_estimate.h"
#include "analysis/device/idle_parts.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/findings/wait_use.h"
#include "analysis/statistics.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// The share of the idle time that a cause needs to be named.
constexpr double kLeastCauseShare = 0.1;

std::string boundsText(const IdleTime& idle) {
  return formatMs(idle.probable) + " (" + formatMs(idle.low) + " to " + formatMs(idle.high) + ')';
}

/// The estimated idle time and its causes; empty if unknown.
std::string idleText(const IdleSummary& idle) {
  if (idle.causes.empty() || idle.p50.probable <= 0) return {};
  std::string text = "; by the waits about " + boundsText(idle.p50);
  for (const CauseOfIdle& each : idle.causes) {
    if (each.p50.probable < kLeastCauseShare * idle.p50.probable) break;
    text += ", by " + std::string(idleCauseName(each.cause)) + ' ' + formatMs(each.p50.probable);
  }
  return text;
}

constexpr const char* kBatchAdvice =
    "prepare the next batch on another thread while the device works, or prepare it once and keep "
    "it";

/// On what the host does outside of phases: backward may need what comes before it.
constexpr const char* kOwnWorkAdvice =
    "do what the step does not need every few steps, on another thread or before the training; "
    "write a loop in Python over samples as ops on the whole batch (indexing, gather), and one "
    "over "
    "tensors as one torch._foreach_* op";
constexpr const char* kFewerOpsAdvice =
    "write a loop in Python over samples, boxes or time steps as ops on all of them. Then ";
constexpr const char* kLossWorkAdvice =
    "what depends on the data alone, as a map of the labels, compute in the data set, where a "
    "DataLoader's workers do it meanwhile, or once and keep it. Else "
    "write what runs there with fewer and larger ops, without a loop in Python over rows or time; "
    "what is computed there on the CPU keeps the device waiting. A metric can wait for the "
    "validation";

/// What to do about a line of the host's own work that is known by its text.
struct LineAdvice {
  std::string_view text, advice;
  bool isAll = false;  ///< it replaces the advice on the host's work
};

constexpr std::string_view kRowAdvice =
    "a row of a DataFrame is a new object each time: convert its columns to arrays or tensors "
    "once, before the training, and index those";

constexpr std::array kLineAdvice = {
    LineAdvice{"gc.collect(",
               "leave gc.collect() out, or call it once an epoch: it looks at every object of the "
               "program, and frees only what is in a reference cycle; tensors are freed without it",
               true},
    LineAdvice{"torch.tensor(",
               "of a list of arrays or tensors torch.tensor() copies number by number: stack them "
               "first, torch.from_numpy(np.stack(rows)) or torch.stack(rows)"},
    LineAdvice{
        "].to(",
        "where rows are gathered on the CPU and copied each time, and all of the data fits on "
        "the device, move it there once, and index it there"},
    LineAdvice{"np.argmax(",
               "where a tensor was copied for it, compute it on the device, tensor.argmax(), and "
               "copy only the result"},
    LineAdvice{"copy.deepcopy(",
               "copy less often: a copy of a model that is kept up to date, parameter by "
               "parameter in one torch._foreach_copy_, needs no new tensors",
               true},
    LineAdvice{"random.sample(",
               "of a collections.deque each element is looked for from an end on: keep what is "
               "sampled in a list, as a ring, or in arrays that are indexed at once"},
    LineAdvice{".pop(0)",
               "pop(0) moves all other elements of a list: use a collections.deque and popleft()"},
    LineAdvice{"np.append(",
               "np.append() copies the whole array each time: collect in a list, or write into an "
               "array that was made large enough"},
    LineAdvice{".iloc[", kRowAdvice},
    LineAdvice{".iterrows(", kRowAdvice},
    LineAdvice{"tokenizer(", "tokenize the texts once, before the training, and keep the numbers"},
    LineAdvice{".savefig(", "draw every few hundred steps only, or after the training"},
};

constexpr const char* kSamplerAdvice =
    "a sampler runs in the script's own process, also where a DataLoader has workers: build what "
    "it looks up (the rows of each label, say) once, before the training, and only choose from it "
    "there";

/// Whether "sampler.py:24" lies in the sampler of the training's DataLoader.
bool isInSampler(const LiveStore& store, const std::string& line) {
  const CodeSign* code = store.sign(kSamplerCodeSign);
  const std::size_t colon = line.rfind(':');
  if (!code || colon == std::string::npos) return false;
  const auto numberIn = [](std::string_view text) {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  };
  const std::string file = line.substr(0, colon + 1);
  const int number = numberIn(std::string_view(line).substr(colon + 1));
  return code->line.starts_with(file) &&
         number >= numberIn(std::string_view(code->line).substr(file.size())) &&
         number <= numberIn(code->text);
}

/// The share of the time in which a script queues ops, 0 to 1, from which on its optimizer is what
/// to look at first.
constexpr double kLeastOptimizerShare = 1.0 / 3;
constexpr const char* kOptimizerAdvice =
    "on MPS PyTorch's optimizers go through the parameters one by one unless they are told "
    "otherwise: give foreach=True, or fused=True where the optimizer has it (AdamW, Adam, SGD). "
    "Then ";

/// What to do about a slow step of the optimizer; empty where it updates all at once already.
std::string optimizerAdvice(const LiveStore& store) {
  if (const CodeSign* own = store.sign(kOwnOptimizerSign)) {
    return own->text +
           " has no argument foreach: where its step goes through the parameters one by one, "
           "update them all at once by torch._foreach_mul_() and the like, or take an optimizer "
           "of PyTorch with foreach=True. Then ";
  }
  // foreach and fused only join the tensors of one group.
  if (const CodeSign* groups = store.sign(kOptimizerGroupsSign)) {
    return "the optimizer has " + groups->text +
           ", and updates each group by itself: put parameters of the same settings into one "
           "group, then give foreach=True, or fused=True where it has that. Then ";
  }
  return store.sign(kOptimizerAtOnceSign) ? "" : kOptimizerAdvice;
}

/// Batch assembly and idle time of the steps that have a device span.
struct Assembly {
  std::size_t steps = 0;
  double assemblyMs = 0, idleMs = 0;  ///< medians
  double waitsMs = 0;                 ///< the median of the smaller of both
};

Assembly assemblyOf(const CheckedSteps& steps) {
  const LiveStore& store = steps.store;
  std::vector<double> assemblyMs(steps.records.size());
  const SpanIndex& lane = store.phaseLane();
  const TimeRange range = steps.timeRange();
  const std::size_t last = lane.firstFrom(range.endNs);
  for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
    const events::PhaseSpan& phase = store.phases()[lane[i].payload];
    if (phase.phase() != events::Phase::BatchAssembly) continue;
    // A step that ran out of memory was trained again: its first try is no part of it.
    if (const auto* record = steps.holding(phase.step(), phase.begin_ns())) {
      assemblyMs[static_cast<std::size_t>(record - steps.records.data())] +=
          toMs(phase.duration_ns());
    }
  }
  // The starts of DataLoader workers are a finding of their own.
  const std::vector<std::int64_t> starts = loaderStartNsOf(steps);
  std::vector<double> assembly, idle, waits;
  for (std::size_t i = 0; i < steps.records.size(); ++i) {
    assemblyMs[i] = std::max(assemblyMs[i] - toMs(starts[i]), 0.0);
    const double deviceMs = store.steps().deviceMs[steps.firstRow + i];
    if (std::isnan(deviceMs)) continue;
    const double stepMs = toMs(steps.records[i].duration_ns());
    assembly.push_back(assemblyMs[i]);
    idle.push_back(std::max(stepMs - deviceMs, 0.0));
    waits.push_back(std::min(assembly.back(), idle.back()));
  }
  return {waits.size(), medianOf(assembly), medianOf(idle), medianOf(waits)};
}

/// nameHostLines() of the spans of the steps that `in` holds for.
double nameLines(const CheckedSteps& steps, const std::function<bool(const AccountSpan&)>& in,
                 Finding& finding) {
  return nameHostLines(
      steps, steps.firstToLast(),
      [&in](const AccountSpan& span) { return span.part.region == Region::Step && in(span); },
      finding);
}

std::function<bool(const AccountSpan&)> inPhase(events::Phase phase) {
  return [phase](const AccountSpan& span) { return span.part.phase == phase; };
}

void addSlowAssembly(const CheckedSteps& steps, const Assembly& assembly, const IdleSummary& idle,
                     Findings& findings) {
  const double least = kLeastIdleShare * steps.medianMs;
  if (assembly.assemblyMs < least || assembly.idleMs < least) return;
  Finding finding = steps.ofTime(FindingKind::HostBound, assembly.waitsMs);
  finding.estimate = true;
  finding.where = phaseName(events::Phase::BatchAssembly);
  finding.title =
      "Host-bound: the device waits for batch assembly, about " + costText(assembly.waitsMs);
  finding.evidence = "batch assembly takes " + costText(assembly.assemblyMs) +
                     ", and the device is idle for " + costText(assembly.idleMs) + " (an estimate" +
                     idleText(idle) + ')';
  finding.advice =
      steps.store.ownScript() ? loaderAdvice(steps.store, assembly.assemblyMs) : kBatchAdvice;
  nameLines(steps, inPhase(events::Phase::BatchAssembly), finding);
  Fix fix;
  fix.remove(HostWork::BatchAssembly);
  steps.gains.add(findings, std::move(finding), std::move(fix));
}

/// The phase in which the host spends most time queueing, and that time per step.
struct Queued {
  events::Phase phase = events::Phase::Forward;
  double ms = 0;
};

Queued mostQueuedIn(const CheckedSteps& steps) {
  std::map<events::Phase, std::int64_t> ns;
  const SpanIndex& lane = steps.store.phaseLane();
  const TimeRange range = steps.timeRange();
  const std::size_t last = lane.firstFrom(range.endNs);
  for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
    const events::PhaseSpan& each = steps.store.phases()[lane[i].payload];
    const auto phase = each.phase();
    const bool queues = phase == events::Phase::Forward || phase == events::Phase::Backward ||
                        phase == events::Phase::OptimizerStep;
    if (queues && steps.holding(each.step(), each.begin_ns())) ns[phase] += each.duration_ns();
  }
  const auto most = std::max_element(
      ns.begin(), ns.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == ns.end() ? Queued{} : Queued{most->first, steps.perStepMs(most->second)};
}

/// What a step's host time is queueing, or batch assembly, in ms a step.
double workMsIn(const CheckedSteps& steps, const TimeAccount& account,
                std::initializer_list<events::Phase> phases) {
  return steps.perStepMs(account.nsWhere([&](const AccountRow& row) {
    return row.part.region == Region::Step && row.activity == Activity::Work &&
           std::find(phases.begin(), phases.end(), row.part.phase) != phases.end();
  }));
}

/// The part of the steps outside of phases in which the host works longest, without waiting.
struct OwnWork {
  Part part;
  std::string where;      ///< the part's text: "after optimizer step"
  double ms = 0;          ///< a step
  double backwardMs = 0;  ///< the host's work in backward, a step

  /// What computes the loss: backward needs it.
  [[nodiscard]] bool beforeBackward() const { return part.after == events::Phase::Forward; }

  /// The most that leaving it out can save, in ms a step: backward goes through its ops again.
  [[nodiscard]] double mostMs() const { return ms + (beforeBackward() ? backwardMs : 0); }

  [[nodiscard]] const char* advice(const LiveStore& store) const {
    if (!store.ownScript()) return "move it out of the step, or to another thread";
    return beforeBackward() ? kLossWorkAdvice : kOwnWorkAdvice;
  }
};

OwnWork mostOwnWorkIn(const CheckedSteps& steps, const TimeAccount& account) {
  std::map<std::pair<events::Phase, NameId>, std::int64_t> ns;
  for (const AccountRow& row : account.rows) {
    const bool own = row.part.region == Region::Step && row.part.phase == events::Phase::None;
    if (own && row.activity == Activity::Work) ns[{row.part.after, row.part.name}] += row.ns;
  }
  const auto most = std::max_element(
      ns.begin(), ns.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == ns.end()) return {};
  const auto& [after, name] = most->first;
  const Part part{Region::Step, events::Phase::None, after, name};
  return {part, partText(steps.store, part), steps.perStepMs(most->second),
          workMsIn(steps, account, {events::Phase::Backward})};
}

/// Title and advice for a cause of idle time. A script gets advice about PyTorch's Python API;
/// none: by its DataLoader.
struct Words {
  IdleCause cause;
  const char *title, *advice, *scriptAdvice;
};
/// The host's work that the fix of an idle cause takes off the training thread.
Fix fixOf(IdleCause cause) {
  Fix fix;
  switch (cause) {
    case IdleCause::BatchAssembly:
      fix.remove(HostWork::BatchAssembly);
      break;
    case IdleCause::DeviceMove:
      fix.remove(HostWork::DeviceMove);
      break;
    case IdleCause::Reading:
      fix.remove(HostWork::Reading);
      break;
    case IdleCause::Queueing:  // the best that it can become: the host is never too slow
      fix.remove(HostWork::Queueing);
      break;
    case IdleCause::OwnWork:
      fix.remove(HostWork::InStep);
      break;
    case IdleCause::BetweenSteps:
      fix.remove(HostWork::BetweenSteps);
      break;
    default:
      break;
  }
  return fix;
}

constexpr std::array<Words, 6> kWords = {{
    {IdleCause::BatchAssembly, "the device waits for batch assembly", kBatchAdvice, ""},
    {IdleCause::DeviceMove, "the device waits until the batch is moved",
     "move the batch in one copy, and the next batch while the device is busy (non_blocking)",
     "move the batch in one copy, and the next batch while the device is busy: "
     "batch.to(device, non_blocking=True)"},
    {IdleCause::Reading, "the device waits while values are logged",
     "print and log only every few steps, or on another thread",
     "print and log only every few steps"},
    {IdleCause::Queueing, "ops are queued more slowly than the device runs them",
     "give the device more work with each op: a larger batch, fused ops, an optimizer that updates "
     "all parameters at once (foreach)",
     "give the device more work with each op: a larger batch, an optimizer with foreach=True"},
    {IdleCause::OwnWork, "the device waits for work outside of forward, backward and optimizer", "",
     ""},
    {IdleCause::BetweenSteps, "the device waits for work of the host between steps",
     "prepare the next batch on another thread; log and save only every few steps",
     "prepare batches in the DataLoader's workers (num_workers); log and save only every few "
     "steps"},
}};

std::string whereOf(IdleCause cause, const Queued& queued, const OwnWork& own) {
  switch (cause) {
    case IdleCause::BatchAssembly:
      return std::string(phaseName(events::Phase::BatchAssembly));
    case IdleCause::DeviceMove:
      return std::string(phaseName(events::Phase::DeviceMove));
    case IdleCause::Reading:
      return std::string(phaseName(events::Phase::LossRead));
    case IdleCause::Queueing:
      return queued.ms > 0 ? std::string(phaseName(queued.phase)) : std::string();
    case IdleCause::OwnWork:
      return own.where;
    default:
      return std::string(idleCauseName(cause));
  }
}

std::string basisText(std::size_t steps) {
  return " (an estimate, of " + std::to_string(steps) + " steps)";
}

/// For queueing only bounds are known.
std::string queueingText(const CheckedSteps& steps, const IdleTime& idle, std::size_t counted,
                         const Queued& queued) {
  const std::string bounds = formatMs(idle.low) + " to " + formatMs(idle.high) + " a step";
  // Where queued work is deferred, it is idle by the rule even if the host then waits for long.
  std::string text = workStartOf(steps.store) == WorkStart::kDeferred
                         ? "the device was idle for up to " + formatMs(idle.high) +
                               " a step: it begins queued work only at a wait or the end of the "
                               "step"
                         : "the device was idle for " + bounds +
                               ": it had finished everything when the host began to wait";
  text += basisText(counted);
  if (queued.ms > 0) {
    text +=
        "; most is queued in " + std::string(phaseName(queued.phase)) + ", " + costText(queued.ms);
  }
  // Recording makes every op a little slower on the host.
  return steps.store.ops().empty() ? text : text + "; recording every op slows the host";
}

std::string ownWorkText(const OwnWork& own) {
  return "outside of phases the host works longest " + own.where + ", " + costText(own.ms) +
         (own.beforeBackward() ? ", and backward repeats those of its ops that have gradients"
                               : "");
}

std::int64_t waitNsIn(const TimeAccount& account, Region region) {
  return account.nsWhere([region](const AccountRow& row) {
    return row.activity == Activity::Wait && row.part.region == region;
  });
}

/// Whether each step leaves something behind that slows the next ones, which is a finding of its
/// own: a larger batch makes nothing better then.
bool isSlowedByMore(const CheckedSteps& steps) {
  if (slowingOf(steps) < kLeastSlowing) return false;
  if (becomeSlower(steps)) return true;
  const auto growth =
      memoryGrowth(steps.store, steps.records.front().step(), steps.records.back().step());
  return growth && growth->shape == GrowthShape::Even && growth->slopeBytes >= kLeastGrowthBytes;
}

/// Adds a finding about `ms` of the host's work a step, of which `share` can be left out as it is
/// (0: not known); leaving it out may save up to `mostMs`, if that is more. The device may be
/// nearly as slow, and then little is gained: half is assumed.
void addOfUnknownIdle(const CheckedSteps& steps, Finding finding, double ms, double share,
                      Findings& findings, double mostMs = 0) {
  finding.assumed = true;
  steps.gains.add(findings, std::move(finding),
                  Gain{0, std::max(share, 0.5) * ms, std::max(ms, mostMs)});
}

/// Where the host hardly ever waits for the device, the device is the faster one, though no wait
/// tells how long it is idle: the largest part of the host's time is what to look at. Returns
/// whether that is so.
bool addUnwaitedWork(const CheckedSteps& steps, const Assembly& assembly,
                     const TimeAccount& account, const OwnWork& own, Findings& findings) {
  if (steps.ofRange || !knowsPasses(steps.store)) return false;
  // A device span tells how long the device is idle.
  if (assembly.steps > 0) return false;
  // What is left over when steps are done is waited for after them, as in an evaluation.
  const TimeRange all{account.range.beginNs, wholeRun(steps.store).endNs};
  const std::int64_t waitsNs = waitNsIn(account, Region::Step) + backlogNs(steps, all);
  const std::int64_t allNs = account.nsIn(Region::Step);
  if (static_cast<double>(waitsNs) > kHardlyWaits * static_cast<double>(allNs)) return false;
  const bool drained = mayDrainNearEnd(steps.store, steps.records);
  const auto add = [&](double ms, std::string where, const std::string& title,
                       const std::string& more, const std::string& advice,
                       const std::function<bool(const AccountSpan&)>& in, double mostMs = 0,
                       bool vague = false) {
    Finding finding = steps.ofTime(FindingKind::HostBound, ms);
    finding.vague = vague;
    finding.estimate = true;
    finding.where = std::move(where);
    finding.title = (drained ? "Host-bound: " : "May be host-bound: ") + title + ' ' + costText(ms);
    finding.evidence = more + "the host waits for the device for " + formatMs(toMs(waitsNs)) +
                       " of " + formatMs(toMs(allNs)) +
                       (drained ? ", so the host is the slower of the two"
                                : ", and no wait near the end tells how far behind the device is");
    finding.advice = advice;
    const double share = nameLines(steps, in, finding);
    addOfUnknownIdle(steps, std::move(finding), ms, share, findings, mostMs);
  };
  const double leastMs = kLeastIdleShare * steps.perStepMs(allNs);
  using events::Phase;
  const double loadMs = workMsIn(steps, account, {Phase::BatchAssembly});
  const double optimizerMs = workMsIn(steps, account, {Phase::OptimizerStep});
  const double queueMs = optimizerMs + workMsIn(steps, account, {Phase::Forward, Phase::Backward});
  const bool script = steps.store.ownScript();
  if (loadMs >= leastMs) {
    add(loadMs, std::string(phaseName(Phase::BatchAssembly)), "batch assembly takes", "",
        script ? loaderAdvice(steps.store, loadMs) : kBatchAdvice, inPhase(Phase::BatchAssembly));
  }
  if (own.ms >= leastMs) {
    add(
        own.ms, own.where, "work outside of forward, backward and optimizer takes",
        ownWorkText(own) + "; ", own.advice(steps.store),
        [&own](const AccountSpan& span) { return span.part == own.part; }, own.mostMs());
  }
  if (loadMs >= leastMs || own.ms >= leastMs) return true;
  // In a short step queueing takes most of the time whatever the device does, and in a long one
  // where the device's queue is full.
  if (steps.medianMs < kLeastIdleStepMs || !drained) return false;
  if (hasKind(findings, FindingKind::AnomalyDetection)) return false;
  const bool byOptimizer = kLeastOptimizerShare * queueMs <= optimizerMs;
  const bool byBackward = 2 * workMsIn(steps, account, {Phase::Backward}) > queueMs && !byOptimizer;
  if (byBackward && isSlowedByMore(steps)) return false;
  // What backward runs is decided where forward computes it.
  const Phase phase = byOptimizer ? Phase::OptimizerStep : Phase::Forward;
  add(queueMs, std::string(phaseName(phase)),
      "ops are queued more slowly than the device runs them,",
      byOptimizer ? "the optimizer's step takes " + formatMs(optimizerMs) + " of it; " : "",
      (byOptimizer ? optimizerAdvice(steps.store) : "") + (script ? kFewerOpsAdvice : "") +
          "give the device more work with each op: a larger batch. A model as small as this may "
          "be faster on the CPU",
      inPhase(phase), 0, !byOptimizer);
  return true;
}

/// Whether one step has more than half of the host's own work of a part: an exception, as when
/// another program took the processor, and no work of the others.
bool isOfOneStep(const CheckedSteps& steps, const Part& part) {
  std::map<std::size_t, std::int64_t> ofSteps;
  std::int64_t allNs = 0, mostNs = 0;
  walkAccount(steps.store, steps.firstToLast(), [&](const AccountSpan& span) {
    if (span.part != part || span.activity != Activity::Work) return;
    std::int64_t& ns = ofSteps[span.row];
    ns += span.endNs - span.beginNs;
    allNs += span.endNs - span.beginNs;
    mostNs = std::max(mostNs, ns);
  });
  return 2 * mostNs > allNs;
}

/// What takes most of the steps must not stay unsaid, though the device may be as slow: loading, or
/// the part that a script works in longest, if host samples tell the line.
void addLargeOwnWork(const CheckedSteps& steps, const TimeAccount& account, const OwnWork& own,
                     Findings& findings) {
  if (steps.ofRange || !steps.store.ownScript()) return;
  const double allMs = steps.perStepMs(account.nsIn(Region::Step));
  const double loadMs = workMsIn(steps, account, {events::Phase::BatchAssembly});
  const double ownMs = own.ms - steps.gains.ownLoopWorkMs();  // which has a finding
  const bool loads = loadMs >= ownMs;
  const double costMs = loads ? loadMs : ownMs;
  if (costMs < kLeastOwnWorkShare * allMs) return;
  // Where the host waits, in the steps or for what they leave over, the device is behind, and what
  // the host does meanwhile costs little.
  const TimeRange toEnd{account.range.beginNs, wholeRun(steps.store).endNs};
  const std::int64_t waitsNs = waitNsIn(account, Region::Step) + backlogNs(steps, toEnd);
  if (steps.perStepMs(waitsNs) >= kLeastIdleShare * allMs) return;
  if (!loads && isOfOneStep(steps, own.part)) return;
  Finding finding = steps.ofTime(FindingKind::HostBound, costMs);
  finding.estimate = true;
  finding.where = loads ? std::string(phaseName(events::Phase::BatchAssembly)) : own.where;
  finding.title = (loads ? "Batch assembly" : "The script's own work " + own.where) + " takes " +
                  percentText(costMs / allMs) + " of the steps' time, " + costText(costMs);
  finding.evidence = "a step takes " + formatMs(allMs) +
                     " (mean); the device may be busy meanwhile, so leaving it out saves between "
                     "nothing and all of it";
  finding.advice = loads ? loaderAdvice(steps.store, loadMs) : own.advice(steps.store);
  const double share = nameLines(
      steps,
      [&](const AccountSpan& span) {
        return loads ? span.part.phase == events::Phase::BatchAssembly : span.part == own.part;
      },
      finding);
  if (finding.line.empty() && !loads) return;
  addOfUnknownIdle(steps, std::move(finding), costMs, share, findings, loads ? 0 : own.mostMs());
}

/// `loadMs`: what loading takes, in ms a step.
void addIdleCause(const CheckedSteps& steps, const CauseOfIdle& idle, const OwnWork& own,
                  double loadMs, std::size_t counted, Findings& findings) {
  const auto words = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Words& each) { return each.cause == idle.cause; });
  // Fallbacks have findings of their own, and evaluations are no part of a step.
  if (words == kWords.end()) return;
  const bool ownWork = idle.cause == IdleCause::OwnWork;
  const bool queueing = idle.cause == IdleCause::Queueing;
  // Anomaly detection slows forward too.
  if (queueing && hasKind(findings, FindingKind::AnomalyDetection)) return;
  // What goes on in a loop of reads is a finding already.
  const double waitsMs = std::max(idle.p50.probable - (ownWork    ? steps.gains.ownLoopWorkMs()
                                                       : queueing ? steps.gains.queueLoopWorkMs()
                                                                  : 0),
                                  0.0);
  if (waitsMs < kLeastIdleShare * steps.medianMs) return;
  // In a short step only what is surely idle is known.
  const bool isShort = steps.medianMs < kLeastIdleStepMs;
  if (isShort && (!ownWork || idle.p50.low < kLeastIdleShare * steps.medianMs)) return;
  const Queued queued = queueing ? mostQueuedIn(steps) : Queued{};
  if (queueing && queued.phase == events::Phase::Backward && isSlowedByMore(steps)) return;
  Finding finding = steps.ofTime(FindingKind::HostBound, waitsMs);
  finding.estimate = true;
  finding.assumed = finding.vague = queueing && idle.p50.low < idle.p50.probable / 2;
  finding.where = whereOf(idle.cause, queued, own);
  finding.title = std::string("Host-bound: ") + words->title + ", about " + costText(waitsMs);
  finding.evidence = queueing ? queueingText(steps, idle.p50, counted, queued)
                              : "by the waits the device is idle for about " +
                                    boundsText(idle.p50) + " a step" + basisText(counted);
  if (ownWork) finding.evidence += "; " + ownWorkText(own);
  finding.advice = ownWork                   ? own.advice(steps.store)
                   : steps.store.ownScript() ? words->scriptAdvice
                                             : words->advice;
  if (finding.advice.empty()) finding.advice = loaderAdvice(steps.store, loadMs);
  Fix fix = fixOf(idle.cause);
  if (queueing || (ownWork && own.beforeBackward())) fix.attainable = 0.5;
  if (ownWork) {
    nameLines(
        steps, [&own](const AccountSpan& span) { return span.part == own.part; }, finding);
  } else if (idle.cause == IdleCause::BatchAssembly) {
    nameLines(steps, inPhase(events::Phase::BatchAssembly), finding);
  }
  const double mostMs = ownWork && own.beforeBackward() ? own.mostMs() : 0;
  steps.gains.add(findings, std::move(finding), std::move(fix), mostMs);
}

/// Names the function with most of the host samples, whose work is spread over too many lines to
/// name one of them. Returns 0: none of its lines can be left out.
double nameHostFunction(const CheckedSteps& steps, const std::vector<TimeRange>& ranges,
                        const std::string& lag, Finding& finding) {
  const std::vector<HostLine> functions = hostFunctions(steps.store, ranges);
  if (functions.empty() || !standsOut(functions.front(), functions.size())) return 0;
  const HostLine& most = functions.front();
  const std::string name = most.site.function + "()";
  finding.line = most.site.line;
  finding.evidence += "; of its host samples " + std::to_string(std::lround(100 * most.share)) +
                      " % (" + std::to_string(most.samples) + ") are in " + name + ", most at " +
                      most.site.line + lag;
  if (!most.site.text.empty()) finding.evidence += " (" + most.site.text + ')';
  finding.advice = "in " + name + ", around " + finding.line + ": " + finding.advice;
  return 0;
}

}  // namespace

double nameHostLines(const CheckedSteps& steps, const TimeRange& range,
                     const std::function<bool(const AccountSpan&)>& in, Finding& finding,
                     std::uint64_t leastSamples) {
  std::vector<TimeRange> ranges;
  walkAccount(steps.store, range, [&](const AccountSpan& span) {
    if (span.activity != Activity::Work || !in(span)) return;
    if (!ranges.empty() && ranges.back().endNs == span.beginNs) {
      ranges.back().endNs = span.endNs;
    } else {
      ranges.push_back({span.beginNs, span.endNs});
    }
  });
  std::string text, source, samplerLine;
  double firstShare = 0;
  bool checks = false;
  // Before Python 3.13 a call into C may get the samples of what ran before it.
  const CodeSign* lags = steps.store.sign(kSamplesLagSign);
  const std::string lag = lags ? " or up to " + lags->text + " before it" : "";
  const std::vector<HostLine> lines = hostLines(steps.store, ranges);
  if (!lines.empty() && lines.front().of < leastSamples) return 0;
  for (const HostLine& each : lines) {
    if (each.site.line.empty() || !standsOut(each, lines.size())) continue;
    if (text.empty()) {
      finding.line = each.site.line;
      source = each.site.text;
      checks = checksDistribution(each.site.library);
      firstShare = each.share;
    }
    if (samplerLine.empty() && isInSampler(steps.store, each.site.line)) {
      samplerLine = each.site.line;
    }
    text += (text.empty() ? "; of its host samples " : ", ") +
            std::to_string(std::lround(100 * each.share)) + " % (" + std::to_string(each.samples) +
            ") are at " + each.site.line + (text.empty() ? lag : "");
    if (!each.site.text.empty()) text += " (" + each.site.text + ')';
  }
  if (text.empty()) return nameHostFunction(steps, ranges, lag, finding);
  finding.evidence += text;
  const auto known = std::find_if(
      kLineAdvice.begin(), kLineAdvice.end(),
      [&source](const LineAdvice& each) { return source.find(each.text) != std::string::npos; });
  // Of a data set the DataLoader's settings say more.
  const bool ofBatch = finding.where == phaseName(events::Phase::BatchAssembly);
  const bool isKnown = !ofBatch && known != kLineAdvice.end();
  if (isKnown) {
    finding.advice = std::string(known->advice) + (known->isAll ? "" : ". Else " + finding.advice);
  }
  if (checks) finding.advice = std::string(kUncheckedAdvice) + ". Else " + finding.advice;
  if (ofBatch && samplerLine == finding.line) {
    finding.advice = kSamplerAdvice + (firstShare < 0.5 ? ". Else " + finding.advice : "");
  } else if (ofBatch && !samplerLine.empty()) {
    finding.advice += ". And at " + samplerLine + ": " + kSamplerAdvice;
  }
  finding.advice = (lags ? "at or before " : "at ") + finding.line + ": " + finding.advice;
  return isKnown && known->isAll ? firstShare : 0;
}

Turns<> findHostBound(CheckedSteps steps, Findings& findings) {
  if (!steps.store.hasQueue()) co_return;
  const Assembly assembly = assemblyOf(steps);
  const TimeAccount account = accountTime(steps.store, steps.firstToLast());
  const OwnWork own = mostOwnWorkIn(steps, account);
  const double leastMs = kLeastIdleShare * steps.medianMs;
  // estimateIdle() is slow on a long run: not if it could give no finding.
  const double loadMs = workMsIn(steps, account, {events::Phase::BatchAssembly});
  if (steps.medianMs < kLeastIdleStepMs && loadMs < leastMs && own.ms < leastMs) co_return;
  if (addUnwaitedWork(steps, assembly, account, own, findings)) co_return;
  const IdleSummary idle = co_await estimateIdleInTurns(steps.store, steps.records.front().step(),
                                                        steps.records.back().step());
  const CheckedSteps now = steps.renewed();
  const bool spans = assembly.steps >= kLeastSteps;
  if (spans) addSlowAssembly(now, assembly, idle, findings);
  for (const CauseOfIdle& each : idle.causes) {
    if (idle.steps.size() < kLeastSteps) break;
    // addSlowAssembly() uses measurements.
    if (spans && each.cause == IdleCause::BatchAssembly) continue;
    addIdleCause(now, each, own, loadMs, idle.steps.size(), findings);
  }
  const bool isSaid = spans || hasKind(findings, FindingKind::HostBound);
  if (!isSaid) addLargeOwnWork(now, account, own, findings);
}

}  // namespace highwater::analysis
