#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/device/device_path.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/named_phases.h"
#include "analysis/op_label.h"
#include "core/fallback_advice.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// "train.py:12, in transformers/trainer.py:1911 Trainer.train".
std::string lineText(const CallSiteParts& site) {
  return site.library.empty() ? site.line : site.line + std::string(kInLibrary) + site.library;
}

/// What turns off a library's own waits outside of the model; empty where that is not known.
std::string libraryAdvice(const CallSiteParts& site, std::string_view op) {
  if (op.starts_with("torch.")) {
    const bool empties =
        op.ends_with(".empty_cache") && site.library.starts_with("transformers/trainer");
    return empties ? "the trainer does this: leave torch_empty_cache_steps out of the "
                     "TrainingArguments, or raise it"
                   : "";
  }
  if (site.library.starts_with("transformers/trainer")) {
    return "the trainer reads this: raise logging_steps of the TrainingArguments, and give "
           "logging_nan_inf_filter=False";
  }
  if (site.library.starts_with("logger_connector/")) {
    return "the trainer reads this: raise log_every_n_steps of the Trainer, and log without "
           "prog_bar";
  }
  return {};
}

/// Adds up the events of one finding.
struct LostTime {
  std::int64_t totalNs = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  events::SyncKind kind = events::SyncKind::None;  ///< of waits: that of the last one
  bool onlyReads = true;                           ///< all copy numbers to the host
  std::map<NameId, std::int64_t> nsByOp;
  /// Phase, named span around it, module and call site.
  using Place = std::tuple<events::Phase, NameId, ModuleId, CallSiteId>;
  std::map<Place, std::int64_t> nsByPlace;
  std::vector<std::uint32_t> steps;  ///< sorted, each once
  std::uint32_t longest = 0;         ///< the index of the longest event
  std::int64_t longestNs = -1;
  std::vector<TimeRange> ranges;  ///< of the events, in order of arrival

  /// Counts the event at `index` of its vector in the store.
  template <typename Event>
  void add(const LiveStore& store, const Event& event, std::size_t index,
           std::uint64_t eventBytes) {
    totalNs += event.duration_ns();
    if (event.duration_ns() > longestNs) {
      longestNs = event.duration_ns();
      longest = static_cast<std::uint32_t>(index);
    }
    ++count;
    bytes += eventBytes;
    ranges.push_back({event.begin_ns(), event.begin_ns() + event.duration_ns()});
    nsByOp[event.op()] += event.duration_ns();
    nsByPlace[placeOf(store, event)] += event.duration_ns();
    noteStep(event.step());
  }

  /// Events come nearly in order of their steps.
  void noteStep(std::uint32_t step) {
    if (!steps.empty() && steps.back() == step) return;
    const bool isLast = steps.empty() || steps.back() < step;
    const auto at = isLast ? steps.end() : std::lower_bound(steps.begin(), steps.end(), step);
    if (isLast || *at != step) steps.insert(at, step);
  }

  template <typename Event>
  static Place placeOf(const LiveStore& store, const Event& event) {
    const events::NamedSpan* span =
        event.phase() == events::Phase::None ? namedSpanAt(store, event.begin_ns()) : nullptr;
    return {event.phase(), span ? span->name() : kNoId, event.module_id(), event.call_site()};
  }

  static std::string placeText(const LiveStore& store, const Place& place) {
    const auto& [phase, span, module, site] = place;
    std::string text = span == kNoId ? std::string(phaseName(phase)) : store.name(span);
    for (const std::string& more : {store.modulePath(module), store.callSite(site)}) {
      if (!more.empty()) text += ", " + more;
    }
    return text;
  }

  struct WorstPlace {
    std::string text;
    std::int64_t ns = 0;
    CallSiteId site = kNoId;
  };
  /// The costliest place. Places that read alike are one.
  [[nodiscard]] WorstPlace worstPlace(const LiveStore& store) const {
    std::map<std::string, WorstPlace> byText;
    for (const auto& [place, ns] : nsByPlace) {
      WorstPlace& each = byText[placeText(store, place)];
      each.ns += ns;
      each.site = std::get<3>(place);
    }
    auto worst = byText.begin();
    for (auto each = byText.begin(); each != byText.end(); ++each) {
      if (each->second.ns > worst->second.ns) worst = each;
    }
    return {worst->first, worst->second.ns, worst->second.site};
  }
  /// The call site of the costliest place.
  [[nodiscard]] CallSiteParts worstSite(const LiveStore& store) const {
    return store.callSiteParts(worstPlace(store).site);
  }

  /// The training without these events.
  [[nodiscard]] Fix fix() const {
    Fix without;
    without.removed = ranges;
    return without;
  }

  /// Fills in the finding from the events. The advice names the costliest line.
  void describe(const CheckedSteps& checked, Finding& finding, const std::string& advice) const {
    const LiveStore& store = checked.store;
    finding.count = count;
    finding.longest = longest;
    finding.firstStep = steps.front();
    finding.lastStep = steps.back();
    std::map<std::string, std::int64_t> nsByName;
    for (const auto& [op, ns] : nsByOp) nsByName[store.name(op)] += ns;
    std::vector<std::pair<std::int64_t, std::string>> byCost;
    for (const auto& [op, ns] : nsByName) byCost.emplace_back(-ns, op);
    std::sort(byCost.begin(), byCost.end());
    for (const auto& [ns, op] : byCost) finding.ops.push_back(op);
    const WorstPlace worst = worstPlace(store);
    finding.where = worst.text;
    const CallSiteParts site = store.callSiteParts(worst.site);
    finding.line = site.line;
    const std::string ofLibrary = libraryAdvice(site, finding.ops.front());
    finding.advice = ofLibrary.empty() ? advice : ofLibrary;
    if (!site.line.empty()) finding.advice = "at " + lineText(site) + ": " + finding.advice;
    finding.evidence = std::to_string(count) + " times in " + std::to_string(steps.size()) +
                       " steps (" + std::to_string(finding.firstStep) + " to " +
                       std::to_string(finding.lastStep) + checked.withoutText() + "), most " +
                       (finding.where.starts_with("outside") ? "" : "in ") + finding.where +
                       (bytes > 0 ? ", " + formatBytes(bytes) + " moved" : "");
  }
};

/// Where an op was called: its op, what made it wait, phase and line.
using Caller = std::tuple<NameId, events::SyncKind, events::Phase, std::string>;

/// The advice on what reads a value outside of the model.
std::string readAdvice(const CheckedSteps& steps) {
  return steps.store.ownScript()
             ? "read and print values such as loss.item() only every few steps; until then sum up "
               "loss.detach() on the device"
             : "read and print the loss only every few steps; until then sum it up on the device";
}

/// The advice on a wait in a script: an op's, or a call's of PyTorch.
const char* waitAdvice(events::SyncKind kind, std::string_view op) {
  if (op.ends_with(".empty_cache")) {
    return "leave it out: it waits for all queued work and gives the cached memory back, which the "
           "next step takes from the driver again. If the cache grows too large, empty it once an "
           "epoch";
  }
  if (op.starts_with("torch.Generator.")) {
    return "save the generator's state with checkpoints only. On a Mac this does not wait, on the "
           "simulated device it does";
  }
  switch (kind) {
    case events::SyncKind::CopyToDevice:
      return "make the tensor on the device (device=...), or move it there once, before the "
             "training";
    case events::SyncKind::Nonzero:
    case events::SyncKind::Unique:
      return "use a form whose result has a fixed size: torch.where or masked_fill in place of a "
             "boolean index";
    case events::SyncKind::Synchronize:
      return "leave it out: whatever reads a value waits by itself. To measure times, synchronize "
             "once before and once after many steps, and divide";
    case events::SyncKind::EventWait:
      return "leave it out: whatever reads a value waits by itself. To measure times, keep the "
             "events, and read their times once, after many steps";
    default:
      return "keep the value on the device (torch.where in place of an if), or read it only every "
             "few steps";
  }
}

void addChattyLogging(const CheckedSteps& steps, const LostTime& lost, Findings& findings) {
  const double waitsMs = steps.perStepMs(lost.totalNs);
  Finding finding = steps.ofTime(FindingKind::ChattyLogging, waitsMs);
  if (finding.weight < kLeastLostShare) return;
  lost.describe(steps, finding, readAdvice(steps));
  finding.title = "Chatty logging: the host waits " + costText(waitsMs) + " to read values";
  Fix fix = lost.fix();
  fix.remove(HostWork::Reading);  // the rest of the phase prints what was read
  steps.gains.add(findings, std::move(finding), std::move(fix));
}

void addSyncPoint(const CheckedSteps& steps, std::string_view op, const LostTime& lost,
                  Findings& findings) {
  const double waitsMs = steps.perStepMs(lost.totalNs);
  Finding finding = steps.ofTime(FindingKind::SyncPoint, waitsMs);
  if (finding.weight < kLeastLostShare) return;
  lost.describe(steps, finding,
                steps.store.ownScript()
                    ? waitAdvice(lost.kind, op)
                    : "move it out of the step, or keep the value on the device");
  finding.title = "Unplanned sync point: " + opLabel(op, lost.kind) + " makes the host wait " +
                  costText(waitsMs);
  steps.gains.add(findings, std::move(finding), lost.fix());
}

/// Whether a wait copies numbers to the host. A single byte is a condition: a bool that an `if`
/// reads.
bool readsNumbers(const events::SyncPoint& sync) {
  return sync.kind() == events::SyncKind::CopyToHost ||
         (sync.kind() == events::SyncKind::ScalarRead && sync.bytes() != 1);
}

/// Whether a script logs by these waits: it reads values in nearly every step, outside of its
/// model. The built-in workload has a phase for that.
bool isLogging(const CheckedSteps& steps, const Caller& caller, const LostTime& lost) {
  return steps.store.ownScript() && std::get<events::Phase>(caller) == events::Phase::None &&
         lost.onlyReads &&
         static_cast<double>(lost.steps.size()) >=
             kEveryStepShare * static_cast<double>(steps.records.size());
}

/// "; 7 device switches a step (1 planned, such as the batch's move): …", with what a switch is.
/// Medians; empty if none is unplanned.
std::string switchesText(const PathSummary& paths) {
  if (paths.unplannedP50 < 1) return {};
  const auto count = [](double median) { return std::to_string(std::lround(median)); };
  return "; " + count(paths.changesP50) + " device switches a step (" + count(paths.deliberateP50) +
         " planned, such as the batch's move" +
         (paths.acceptedP50 > 0 ? "; " + count(paths.acceptedP50) + " accepted" : "") +
         "): each time the work moves between host, mps and CPU, one of them waits for another";
}

}  // namespace

void findFallbacks(const CheckedSteps& steps, Findings& findings) {
  const LiveStore& store = steps.store;
  std::map<std::string, LostTime> byOp;
  std::map<std::string, std::int64_t> waitNs;
  for (const events::FallbackEvent& each : store.fallbacks()) {
    if (!steps.holding(each.step(), each.begin_ns())) continue;
    waitNs[store.name(each.op())] += each.wait_ns();
    byOp[store.name(each.op())].add(store, each,
                                    static_cast<std::size_t>(&each - store.fallbacks().data()),
                                    each.bytes_to_cpu() + each.bytes_to_device());
  }
  // The switches are those of the whole run.
  const std::string switches =
      byOp.empty() || steps.ofRange ? "" : switchesText(summarizePaths(store));
  // Autograd's threads have no call site, but the op of a backward has a forward.
  const auto forwardLineOf = [&](const std::string& op) -> std::string {
    constexpr std::string_view kBackward = "_backward";
    if (!op.ends_with(kBackward)) return {};
    const auto found = byOp.find(op.substr(0, op.size() - kBackward.size()));
    return found == byOp.end() ? std::string() : found->second.worstSite(store).line;
  };
  for (const auto& [op, lost] : byOp) {
    const double costMs = steps.perStepMs(lost.totalNs);
    if (const FallbackAcceptance* accepted = store.acceptanceOf(op)) {
      findings.accepted.push_back({op, accepted->reason, lost.count, costMs});
      continue;
    }
    Finding finding = steps.ofTime(FindingKind::Fallback, costMs);
    if (finding.weight < kLeastLostShare) continue;
    lost.describe(
        steps, finding,
        std::string(fallbackAdvice(op)) +
            (steps.store.ownScript() ? ", or call it less often than at each step; or accept it"
                                     : ", or move it out of the step; or accept it"));
    if (const std::string line = forwardLineOf(op); finding.line.empty() && !line.empty()) {
      finding.line = line;
      finding.advice = "the forward is at " + line + ": " + finding.advice;
    }
    // Without the fallback, part of this wait would move to the next sync point.
    finding.evidence += "; " + formatMs(steps.perStepMs(waitNs[op])) +
                        " of this is waiting for queued device work, copies included" + switches;
    finding.title = "Fallback: " + op + " runs on the CPU and blocks the host, " + costText(costMs);
    steps.gains.add(findings, std::move(finding), lost.fix());
  }
}

void findSyncPoints(const CheckedSteps& steps, Findings& findings) {
  const LiveStore& store = steps.store;
  LostTime logging;
  std::map<Caller, LostTime> others;
  for (const events::SyncPoint& each : store.syncPoints()) {
    if (!steps.holding(each.step(), each.begin_ns())) continue;
    const bool inLossRead = each.phase() == events::Phase::LossRead;
    if (isUnplanned(each)) {
      LostTime& lost =
          inLossRead
              ? logging
              : others[{each.op(), each.kind(), each.phase(), store.callSite(each.call_site())}];
      lost.add(store, each, static_cast<std::size_t>(&each - store.syncPoints().data()),
               each.bytes());
      lost.kind = each.kind();
      lost.onlyReads = lost.onlyReads && readsNumbers(each);
    }
  }
  if (logging.count > 0) addChattyLogging(steps, logging, findings);
  for (const auto& [caller, lost] : others) {
    if (isLogging(steps, caller, lost)) {
      addChattyLogging(steps, lost, findings);
    } else {
      addSyncPoint(steps, store.name(std::get<NameId>(caller)), lost, findings);
    }
  }
}

}  // namespace highwater::analysis
