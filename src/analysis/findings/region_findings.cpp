#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/account/memory_account.h"
#include "analysis/account/time_account.h"
#include "analysis/device/device_work.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/whole_steps.h"
#include "core/fallback_advice.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

using events::Phase;

/// What takes the time of a region.
enum class Taker : std::uint8_t { Loading, Waits, Fallbacks, OwnWork };
constexpr std::size_t kTakers = 4;

Taker takerOf(const AccountRow& row) {
  if (row.activity == Activity::Fallback || row.kind == events::SyncKind::Fallback) {
    return Taker::Fallbacks;
  }
  if (row.activity == Activity::Wait) return Taker::Waits;
  return row.part.phase == Phase::BatchAssembly ? Taker::Loading : Taker::OwnWork;
}

struct Share {
  std::int64_t ns = 0;
  std::uint64_t count = 0;
  const AccountRow* largest = nullptr;
};
using Shares = std::array<Share, kTakers>;

/// The rows of an account that `is` holds for, by what takes their time.
template <typename Is>
Shares sharesOf(const TimeAccount& account, Is&& is) {
  Shares shares;
  for (const AccountRow& row : account.rows) {  // the longest first
    // The starts of DataLoader workers are a finding of their own.
    if (!is(row) || row.activity == Activity::LoaderStart) continue;
    Share& share = shares[static_cast<std::size_t>(takerOf(row))];
    if (!share.largest) share.largest = &row;
    share.ns += row.ns;
    // A fallback waits before it computes, and is one event.
    share.count += row.kind == events::SyncKind::Fallback ? 0 : row.count;
  }
  return shares;
}

/// "loading batches 5.12 s, waits for the device 0.20 s (40×)": the longest first.
std::string sharesText(const Shares& shares) {
  constexpr std::array<std::string_view, kTakers> kNames = {
      "loading batches", "waits for the device", "ops on the CPU", "the host's other work"};
  std::array<std::size_t, kTakers> order{};
  for (std::size_t i = 0; i < kTakers; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a].ns > shares[b].ns; });
  std::string text;
  for (const std::size_t i : order) {
    if (shares[i].ns <= 0) break;
    text +=
        (text.empty() ? "" : ", ") + std::string(kNames[i]) + ' ' + formatDuration(shares[i].ns);
    if (shares[i].count > 0) text += " (" + std::to_string(shares[i].count) + "\u00d7)";
  }
  return text;
}

/// What a region's largest share is, as the end of a title, and what to do about it; empty: by the
/// op that falls back, or by the DataLoader in use.
struct TakerWords {
  std::string_view title, advice;
};
constexpr std::array<TakerWords, kTakers> kEvaluationWords = {
    {{"most of it loading batches",
      "have the evaluation's DataLoader prepare batches while the model computes (num_workers=2, "
      "persistent_workers=True), or load the data once and keep them; or evaluate less often"},
     {"most of it waiting for the device",
      "keep results on the device, and read them once after the loop: torch.stack or a running sum "
      "in place of .item() for each; text that is generated, once at its end. A larger batch "
      "gives the device more work a call"},
     {"most of it in ops that run on the CPU", ""},
     {"most of it the host's own work",
      "evaluate less often, on fewer data, or in larger batches; compute metrics on the device and "
      "read them once"}}};
/// Of an evaluation that computes, and reads its results when it is over.
constexpr std::string_view kComputesAdvice =
    "evaluate less often, on fewer data, or in larger batches";
/// One evaluation in a while that only computes is no problem below this share of the time, 0 to 1.
constexpr double kLeastOrdinaryShare = 0.35;
/// Of an evaluation that reads after each of many calls of the model.
constexpr std::string_view kGeneratesAdvice =
    "the host reads a value after each of many calls of the model. Where text is generated: "
    "several prompts as one batch, the keys and values of earlier tokens kept (a key-value cache), "
    "and the "
    "end looked for every few tokens; else keep results on the device, and read them once. Or "
    "evaluate less often";
/// Of an evaluation that reads far more values than it calls the model.
constexpr std::string_view kReadsOneByOneAdvice =
    "values of the model's outputs are read one by one, each of which waits for the device: copy "
    "the outputs to the CPU once a batch (outputs.cpu(), also of what is computed from them) and "
    "go "
    "through them there, or leave fewer of them on the device first. Where each value decides what "
    "the model is called with next, as in generating text: several sequences as one batch";
/// Of an evaluation whose outputs go to the CPU as they are: what is kept of them takes memory too.
constexpr std::string_view kCopiesOutputsAdvice =
    "the model's outputs are copied to the CPU whole, and what is kept of them until then takes as "
    "much memory: keep of each batch only what the metric needs (the loss, argmax), and copy that. "
    "For transformers' Trainer: preprocess_logits_for_metrics, prediction_loss_only, or "
    "eval_accumulation_steps";
/// So many bytes that a visit copies to the CPU are more than results.
constexpr std::uint64_t kLeastBytesOfOutputs = std::uint64_t{64} << 20;
/// Of an evaluation without a DataLoader whose own work is not the model's.
constexpr std::string_view kOwnLoopAdvice =
    "where that is a loop in Python over rows or time steps, write it as ops on whole tensors, or "
    "copy what it reads to the CPU once and go through it there; else compute metrics on the "
    "device and read them once, or do it less often";
/// A line outside of the modules with this share of an evaluation's work on the device, 0 to 1, is
/// what makes it slow.
constexpr double kLeastLineShare = 0.25;
constexpr std::string_view kHeavyLineAdvice =
    "write that line with ops whose tensors are smaller, as bincount in place of comparing all "
    "values with all, or compute it once of all batches; else evaluate less often";
/// A host that works for less than this between two waits, in ns, does not call a model between
/// them: that queues dozens of ops.
constexpr std::int64_t kLeastCallNs = 250'000;
/// So many reads a visit are those of a loop over tokens or so.
constexpr std::uint64_t kLeastReadsOfALoop = 50;
/// And so many a batch that a loader has fetched.
constexpr std::uint64_t kLeastReadsABatch = 4;
/// Where the host works for less than this share of what it waits, the device is what takes the
/// time.
constexpr double kMostHostShare = 0.2;
constexpr std::array<TakerWords, kTakers> kOtherWords = {
    {{"most of it loading batches", ""},
     {"most of it waiting for the device",
      "keep results on the device, and read them once, together"},
     {"most of it in ops that run on the CPU", ""},
     {"most of it the host's own work",
      "do it less often, on another thread, or after the training"}}};

/// Of calls that come with each step, as those that act in an environment.
constexpr std::string_view kActAdvice =
    "; if this validates the model, do so once an epoch; where a call needs the result of the one "
    "before, as in reinforcement learning, call the model for several environments at once, or a "
    "copy of it on the CPU, which waits for nothing";

/// What the fix of a share gains, in ns, of a region that takes `ns`: loading can be done while
/// the rest goes on, by one worker or by many; a wait ends no earlier than the work that it waits
/// for, but the host can queue the next meanwhile. Half as many evaluations take half of the time,
/// and larger batches may save nearly all of it, whoever is slow.
Gain gainOf(Taker taker, const Shares& shares, std::int64_t ns, double steps) {
  const auto of = [&](Taker which) {
    return static_cast<double>(shares[static_cast<std::size_t>(which)].ns);
  };
  const double msAStep = 1 / kNsPerMs / steps;
  const double rest = static_cast<double>(ns) - of(taker);
  double low = 0, high = 0;
  switch (taker) {
    case Taker::Loading:
      low = std::min(of(taker), rest);
      high = of(taker);
      break;
    case Taker::Waits:
      return {0, std::min(of(taker), of(Taker::OwnWork)) / 2 * msAStep,
              static_cast<double>(ns) * msAStep};
    case Taker::Fallbacks:
      high = of(taker);
      break;
    case Taker::OwnWork:
      high = static_cast<double>(ns);
      break;
  }
  return {low * msAStep, (low + high) / 2 * msAStep, high * msAStep};
}

/// So many waits a visit of a region, or fewer, read what it has computed at its end.
constexpr std::uint64_t kMostReadsAtEnd = 3;

/// A region, and the name of its phase: kNoId but in a phase that the script names.
using NamedRegion = std::pair<Region, NameId>;

/// How long the host waits in each region for what the steps before have queued: the first wait of
/// a visit, if `leastSteps` were queued since the last wait. That time passes in any case: a read
/// of the loss at the end of an epoch only shows it.
std::map<NamedRegion, Share> backlogs(const CheckedSteps& steps, const TimeRange& range,
                                      std::uint32_t leastSteps) {
  std::map<NamedRegion, Share> backlogs;
  std::uint32_t queued = 0;  // steps since the last wait
  std::optional<std::size_t> row;
  std::optional<std::uint32_t> first;  // the wait that works off the steps
  walkAccount(steps.store, range, [&](const AccountSpan& span) {
    const bool isStep = span.part.region == Region::Step;
    if (isStep && row != span.row) ++queued;
    if (isStep) row = span.row;
    if (span.activity != Activity::Wait || span.ofFallback) return;
    const bool isRest = first == span.event;  // a border may cut a wait in two
    const bool isBacklog = isRest || (!isStep && queued >= leastSteps);
    queued = 0;
    first.reset();
    if (!isBacklog) return;
    first = span.event;
    const bool isNamed = span.part.region == Region::NamedPhase;
    Share& share = backlogs[{span.part.region, isNamed ? span.part.name : kNoId}];
    share.ns += span.ns();
    const bool begins = steps.store.syncPoints()[span.event].begin_ns() == span.beginNs;
    share.count += begins ? 1 : 0;
  });
  return backlogs;
}

/// How many batches are fetched in the evaluations of a range.
std::uint64_t batchesIn(const LiveStore& store, const TimeRange& range) {
  std::uint64_t batches = 0;
  bool wasFetching = false;
  walkAccount(store, range, [&](const AccountSpan& span) {
    const bool fetches =
        span.part.region == Region::Evaluation && span.part.phase == Phase::BatchAssembly;
    batches += fetches && !wasFetching ? 1 : 0;
    wasFetching = fetches;
  });
  return batches;
}

/// How many bytes the evaluations of a range copy to the CPU.
std::uint64_t bytesToHostIn(const LiveStore& store, const TimeRange& range) {
  std::uint64_t bytes = 0;
  walkAccount(store, range, [&](const AccountSpan& span) {
    const bool isWait = span.activity == Activity::Wait && !span.ofFallback;
    if (span.part.region != Region::Evaluation || !isWait) return;
    const events::SyncPoint& wait = store.syncPoints()[span.event];
    // A border may cut a wait in two.
    const bool copies = wait.kind() == events::SyncKind::CopyToHost;
    if (copies && wait.begin_ns() == span.beginNs) bytes += wait.bytes();
  });
  return bytes;
}

void addRegion(const CheckedSteps& steps, const TimeAccount& account, Region region,
               const std::string& name, Shares shares, const Share& backlog, Findings& findings) {
  const std::uint64_t visits = account.visits[static_cast<std::size_t>(region)];
  const bool evaluates = region == Region::Evaluation;
  // Without a loader: where a step is an epoch, an evaluation may follow each.
  const bool isEachStep =
      evaluates &&
      static_cast<double>(visits) >= kEveryStepShare * static_cast<double>(steps.records.size()) &&
      shares[static_cast<std::size_t>(Taker::Loading)].ns == 0;
  Share& waits = shares[static_cast<std::size_t>(Taker::Waits)];
  waits.ns -= backlog.ns;
  waits.count -= std::min(backlog.count, waits.count);
  std::int64_t ns = 0;
  for (const Share& each : shares) ns += each.ns;
  const double share = static_cast<double>(ns) / static_cast<double>(account.nsOfRun());
  const double leastShare = isEachStep ? kLeastRegionShare / 2 : kLeastRegionShare;
  if (share < leastShare || (ns < kLeastRegionNs && !isEachStep)) return;
  const auto most = std::max_element(shares.begin(), shares.end(),
                                     [](const Share& a, const Share& b) { return a.ns < b.ns; });
  auto taker = static_cast<Taker>(most - shares.begin());
  if (taker == Taker::Waits && hasKind(findings, FindingKind::MovedBack)) return;
  // After the steps the host waits for what they have queued.
  if (taker == Taker::Waits && region == Region::AfterSteps) return;
  // Who reads once, at the end, can only do less.
  const Share& own = shares[static_cast<std::size_t>(Taker::OwnWork)];
  std::uint64_t valuesRead = 0;
  for (const AccountRow& row : account.rows) {
    const bool isRead = row.part.region == region && row.kind == events::SyncKind::ScalarRead;
    valuesRead += isRead ? row.count : 0;
  }
  // One a batch that is loaded is no loop over tokens.
  const bool reads = evaluates && valuesRead >= kLeastReadsOfALoop * visits &&
                     valuesRead >= kLeastReadsABatch * batchesIn(steps.store, account.range);
  const bool readsAtEnd =
      taker == Taker::Waits && !isEachStep &&
      (waits.count <= kMostReadsAtEnd * visits ||
       (evaluates && !reads &&
        static_cast<double>(own.ns) < kMostHostShare * static_cast<double>(waits.ns)));
  if (readsAtEnd) taker = Taker::OwnWork;
  TakerWords words = (evaluates ? kEvaluationWords : kOtherWords)[static_cast<std::size_t>(taker)];
  if (readsAtEnd) {
    words.title = "most of it waiting for the device";
    if (evaluates) words.advice = kComputesAdvice;
  }
  const bool readsOneByOne =
      reads && own.ns < kLeastCallNs * static_cast<std::int64_t>(waits.count);
  if (evaluates && reads && !isEachStep && (taker == Taker::Waits || taker == Taker::OwnWork)) {
    words.advice = readsOneByOne ? kReadsOneByOneAdvice : kGeneratesAdvice;
  }
  const std::uint64_t toHost = evaluates ? bytesToHostIn(steps.store, account.range) : 0;
  const bool copiesOutputs = toHost > 0 && toHost >= kLeastBytesOfOutputs * visits;
  if (copiesOutputs && (taker == Taker::Waits || readsAtEnd)) words.advice = kCopiesOutputsAdvice;
  const bool isOwn = taker == Taker::OwnWork && !readsAtEnd && !reads;
  const bool loads = shares[static_cast<std::size_t>(Taker::Loading)].ns > 0;
  if (evaluates && isOwn && !isEachStep && !loads) words.advice = kOwnLoopAdvice;
  // What it keeps is told there, and makes it slow.
  const bool isFull =
      std::any_of(findings.found.begin(), findings.found.end(), [](const Finding& each) {
        return each.kind == FindingKind::NearLimit && each.where == regionName(Region::Evaluation);
      });
  if (evaluates && taker == Taker::Waits && isFull) {
    words.advice = "evaluate less often or on fewer data; what it keeps in memory makes it slow";
  }
  Finding finding = steps.ofTime(evaluates ? FindingKind::Evaluation : FindingKind::OutsideSteps,
                                 steps.perStepMs(ns));
  finding.estimate = true;
  if (evaluates) finding.count = visits;
  finding.evidence =
      (evaluates ? std::to_string(finding.count) + "\u00d7, together " : "together ") +
      formatDuration(ns) + " of " + formatDuration(account.nsOfRun()) + ": " + sharesText(shares);
  if (copiesOutputs) finding.evidence += "; " + formatBytes(toHost) + " are copied to the CPU";
  finding.advice = words.advice;
  if (isEachStep && taker != Taker::Fallbacks) finding.advice += kActAdvice;
  const LiveStore& store = steps.store;
  if (isOwn) {
    nameHostLines(
        steps, account.range,
        [&](const AccountSpan& span) {
          return span.part.region == region &&
                 (region != Region::NamedPhase || span.part.name == most->largest->part.name);
        },
        finding);
  }
  const bool isNamed = !finding.line.empty();
  // Host samples may show that the time is spent between the calls, not in them.
  const std::string what = !isEachStep ? name
                           : isNamed
                               ? "Calls of the model without gradients, and what comes between"
                               : "Calls of the model without gradients";
  finding.title = what + ": " + percentText(share) + " of the time since the first step, " +
                  std::string(words.title);
  const AccountRow& largest = *most->largest;
  finding.where = partText(store, largest.part);
  const AccountRow* wait = shares[static_cast<std::size_t>(Taker::Waits)].largest;
  const std::string waitLine = wait ? store.callSiteParts(wait->site).line : "";
  if (!isNamed) finding.line = readsOneByOne ? waitLine : store.callSiteParts(largest.site).line;
  // Of the host's own work the place where the model is called is known.
  for (const AccountRow& row : account.rows) {
    if (!finding.line.empty()) break;
    if (!evaluates || row.part.region != region || row.part.name == kNoId) continue;
    finding.line = store.callSiteParts(store.callSiteOfName(row.part.name)).line;
  }
  if (taker == Taker::Fallbacks) {
    const std::string op = store.name(largest.op);
    finding.ops.push_back(op);
    finding.evidence += ", most by " + op;
    finding.advice = std::string(fallbackAdvice(op));
  }
  if (finding.advice.empty()) finding.advice = loaderAdvice(store);
  if (!waitLine.empty()) finding.evidence += "; most waits are at " + waitLine;
  if (evaluates && (taker == Taker::Waits || readsAtEnd)) {
    const DeviceWork work = estimateEvaluationWork(store);
    const std::string places = largestPlacesText(work);
    if (!places.empty()) {
      finding.evidence += "; by the sizes of its ops, the device's largest work there is " + places;
      const DeviceWorkPlace& first = work.places.front();
      const bool onlyComputes = finding.advice == kComputesAdvice;
      if (onlyComputes && first.module.empty() && !first.site.line.empty() &&
          first.low >= kLeastLineShare) {
        finding.line = first.site.line;
        finding.advice = kHeavyLineAdvice;
      }
    }
  }
  const CodeSign* keeps = store.sign(kEvaluationGradientsSign);
  if (finding.advice == kComputesAdvice && share < kLeastOrdinaryShare && !keeps) return;
  if (!isNamed && !finding.line.empty()) {
    finding.advice = "at " + finding.line + ": " + finding.advice;
  }
  if (evaluates && keeps) {
    finding.advice = "call the model under torch.no_grad(), at " + keeps->line +
                     ": else it keeps what a backward would need. Then, " + finding.advice;
  }
  steps.gains.add(findings, std::move(finding),
                  gainOf(taker, shares, ns, static_cast<double>(steps.records.size())));
}

/// An evaluation that keeps graphs is told for its memory from so many times the steps' peak on.
constexpr double kLeastPeakRatio = 1.2;

/// Tells of evaluations that are called with gradients, and so take more memory than the training.
void addEvaluationGraphs(const CheckedSteps& steps, Findings& findings) {
  const LiveStore& store = steps.store;
  const CodeSign* keeps = store.sign(kEvaluationGradientsSign);
  if (!keeps || store.memory().timesNs.empty()) return;
  std::uint64_t inSteps = 0, inEvaluations = 0;
  for (const RegionMemory& row : memoryAccount(store, steps.timeRange()).rows) {
    const std::uint64_t peak = row.of(MemoryCounter::Current).peak;
    if (row.region == Region::Step) inSteps = std::max(inSteps, peak);
    if (row.region == Region::Evaluation) inEvaluations = std::max(inEvaluations, peak);
  }
  if (inSteps == 0 ||
      static_cast<double>(inEvaluations) < kLeastPeakRatio * static_cast<double>(inSteps)) {
    return;
  }
  const std::string peaks = "current memory reaches " + formatBytes(inEvaluations) +
                            " in evaluations, " + formatBytes(inSteps) + " in steps";
  for (Finding& each : findings.found) {
    if (each.kind != FindingKind::Evaluation) continue;
    each.evidence += "; " + peaks;
    return;
  }
  const double recommended = store.memory().recommended[store.memory().timesNs.size() - 1];
  const double share = recommended > 0 ? static_cast<double>(inEvaluations) / recommended : 0;
  Finding finding = steps.ofWeight(FindingKind::Evaluation, std::min(share, 1.0));
  finding.title = "Evaluation: it keeps what a backward would need, which sets the peak of memory";
  finding.evidence = peaks + "; the model is called with gradients";
  finding.line = keeps->line;
  finding.advice = "call the model under torch.no_grad(), at " + keeps->line + ": saves up to " +
                   formatBytes(inEvaluations - inSteps) + " of the peak";
  findings.found.push_back(std::move(finding));
}

/// Whether the run's time between steps lies in few long gaps. A short one at each step belongs to
/// the step: see findHostBound().
bool hasLongGaps(const CheckedSteps& steps, const TimeRange& range, std::int64_t allNs) {
  const double leastNs = 2 * steps.medianMs * kNsPerMs;
  std::int64_t longNs = 0, gapNs = 0;
  std::uint32_t visit = 0;
  const auto end = [&] {
    if (static_cast<double>(gapNs) >= leastNs) longNs += gapNs;
    gapNs = 0;
  };
  walkAccount(steps.store, range, [&](const AccountSpan& span) {
    if (span.visit != visit) end();
    visit = span.visit;
    if (span.part.region == Region::BetweenSteps) gapNs += span.ns();
  });
  end();
  return 2 * longNs >= allNs;
}

}  // namespace

std::int64_t backlogNs(const CheckedSteps& steps, const TimeRange& range) {
  std::int64_t ns = 0;
  for (const auto& [region, share] : backlogs(steps, range, 1)) ns += share.ns;
  return ns;
}

void findTimeOutsideSteps(const CheckedSteps& steps, Findings& findings) {
  const LiveStore& store = steps.store;
  if (store.isUnobserved()) return;  // evaluations are not told from anything else
  TimeRange range = steps.firstToLast();
  if (!steps.ofRange) range.endNs = std::max(range.endNs, wholeRun(store).endNs);
  const TimeAccount account = accountTime(store, range);
  std::map<NamedRegion, Share> backlog = backlogs(steps, range, kLeastDrainedSteps);
  constexpr std::array<std::pair<Region, const char*>, 3> kSearched = {
      {{Region::Evaluation, "Evaluation"},
       {Region::BetweenSteps, "Between steps"},
       {Region::AfterSteps, "After the last step"}}};
  for (const auto& [region, name] : kSearched) {
    const bool isGap = region == Region::BetweenSteps;
    if (isGap && !hasLongGaps(steps, range, account.nsIn(region))) continue;
    // The step in which memory ran out has no end, and comes after the last.
    if (region == Region::AfterSteps && hasKind(findings, FindingKind::OutOfMemory)) continue;
    addRegion(steps, account, region, name,
              sharesOf(account, [&](const AccountRow& row) { return row.part.region == region; }),
              backlog[{region, kNoId}], findings);
  }
  addEvaluationGraphs(steps, findings);
  // Each phase that the script names is one of its own.
  std::map<NameId, std::int64_t> named;
  for (const AccountRow& row : account.rows) {
    if (row.part.region == Region::NamedPhase) named[row.part.name] += row.ns;
  }
  for (const auto& [id, ns] : named) {
    addRegion(steps, account, Region::NamedPhase, "Phase \"" + store.name(id) + '"',
              sharesOf(account,
                       [&, of = id](const AccountRow& row) {
                         return row.part.region == Region::NamedPhase && row.part.name == of;
                       }),
              backlog[{Region::NamedPhase, id}], findings);
  }
}

}  // namespace highwater::analysis
