#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/account/host_lines.h"
#include "analysis/account/time_account.h"
#include "analysis/device/device_path.h"
#include "analysis/device/waited_ops.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/findings/wait_use.h"
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

/// Who logs in one of so many steps, or fewer, does what the advice says, unless it takes this
/// share of a step, 0 to 1.
constexpr std::size_t kFewSteps = 8;
constexpr double kLeastLogShare = 0.1;
/// So many calls of a fallback's op a step are those of a loop, over the rows of a batch or so.
constexpr double kLeastCallsOfALoop = 4;

/// Copies of so large a share of the weights' bytes, 0 to 1, are those of all weights.
constexpr double kLeastOfWeights = 0.9;

/// What moves to the device and back in a step is a model's weights from so many tensors and bytes
/// on.
constexpr double kLeastMovedTensors = 4, kLeastMovedBytes = 1024 * 1024;

/// An op's own work is told from this part of the waits on.
constexpr std::int64_t kLeastOwnPart = 4;

/// Adds up the events of one finding.
struct LostTime {
  std::int64_t totalNs = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  events::SyncKind kind = events::SyncKind::None;  ///< of waits: that of the last one
  events::Phase after = events::Phase::None;       ///< see WaitCase::after: of the last one
  std::map<NameId, std::int64_t> nsByOp;
  /// Phase, named span around it, module and call site.
  using Place = std::tuple<events::Phase, NameId, ModuleId, CallSiteId>;
  std::map<Place, std::int64_t> nsByPlace;
  std::vector<std::uint32_t> steps;  ///< sorted, each once
  std::uint32_t longest = 0;         ///< the index of the longest event
  std::int64_t longestNs = -1;
  std::vector<TimeRange> ranges;  ///< of the events, in order of arrival
  /// In which the device works on one of their ops alone: see waitsForOneOp().
  std::vector<TimeRange> own;

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

  /// Counts the events of another line.
  void add(const LostTime& other) {
    totalNs += other.totalNs;
    count += other.count;
    bytes += other.bytes;
    if (other.longestNs > longestNs) {
      longestNs = other.longestNs;
      longest = other.longest;
    }
    for (const auto& [op, ns] : other.nsByOp) nsByOp[op] += ns;
    for (const auto& [place, ns] : other.nsByPlace) nsByPlace[place] += ns;
    for (const std::uint32_t step : other.steps) noteStep(step);
    ranges.insert(ranges.end(), other.ranges.begin(), other.ranges.end());
    own.insert(own.end(), other.own.begin(), other.own.end());
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
    std::string text = span != kNoId                  ? store.name(span)
                       : phase != events::Phase::None ? std::string(phaseName(phase))
                                                      : "";
    for (const std::string& more : {store.modulePath(module), store.callSite(site)}) {
      if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
    }
    // That an event is in no phase is told only where nothing else is known.
    return text.empty() ? std::string(phaseName(phase)) : text;
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
  /// "; at train.py:36, train.py:37": the lines, where there are several.
  [[nodiscard]] std::string linesText(const LiveStore& store) const {
    std::set<std::string> lines;
    for (const auto& [place, ns] : nsByPlace) {
      lines.insert(store.callSiteParts(std::get<3>(place)).line);
    }
    lines.erase("");
    if (lines.size() < 2) return {};
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "; at " : ", ") + line;
    return text;
  }

  /// The call site of the costliest place.
  [[nodiscard]] CallSiteParts worstSite(const LiveStore& store) const {
    return store.callSiteParts(worstPlace(store).site);
  }

  /// The line of the costliest place that has one; empty if none has.
  [[nodiscard]] std::string anyLine(const LiveStore& store) const {
    std::string line;
    std::int64_t most = -1;
    for (const auto& [place, ns] : nsByPlace) {
      const std::string each = store.callSiteParts(std::get<3>(place)).line;
      if (each.empty() || ns <= most) continue;
      line = each;
      most = ns;
    }
    return line;
  }

  [[nodiscard]] bool hasOp(const LiveStore& store, std::string_view op) const {
    return std::any_of(nsByOp.begin(), nsByOp.end(),
                       [&](const auto& each) { return store.name(each.first) == op; });
  }

  /// How many of the events one of their steps has.
  [[nodiscard]] double aStep() const {
    return static_cast<double>(count) / static_cast<double>(steps.size());
  }

  /// The training without these events.
  [[nodiscard]] Fix fix() const {
    Fix without;
    without.removed = ranges;
    without.leftOut = own;
    // Those of several lines follow each other.
    for (std::vector<TimeRange>* each : {&without.removed, &without.leftOut}) {
      std::sort(each->begin(), each->end(),
                [](const TimeRange& a, const TimeRange& b) { return a.beginNs < b.beginNs; });
    }
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
    std::set<CallSiteId> sites;
    for (const auto& [place, ns] : nsByPlace) sites.insert(std::get<3>(place));
    sites.erase(kNoId);
    finding.callSites.assign(sites.begin(), sites.end());
    const std::string ofLibrary = libraryAdvice(site, finding.ops.front());
    finding.advice = ofLibrary.empty() ? advice : ofLibrary;
    if (!site.line.empty()) finding.advice = "at " + lineText(site) + ": " + finding.advice;
    const std::size_t all = checked.records.size();
    const double eachMs = static_cast<double>(totalNs) / kNsPerMs / static_cast<double>(count);
    const bool isAll = steps.size() == all;
    finding.evidence =
        std::to_string(count) + (finding.kind == FindingKind::Fallback ? " call" : " wait") +
        (count == 1 ? " of " : "s of ") + formatMs(eachMs) + (count == 1 ? "" : " on average") +
        ", in " + (isAll ? "all " : std::to_string(steps.size()) + " of ") + std::to_string(all) +
        " steps (" + std::to_string(finding.firstStep) + " to " + std::to_string(finding.lastStep) +
        checked.withoutText() + "), most " +
        (finding.where == store.callSite(worst.site)    ? "at "
         : finding.where.starts_with("outside a phase") ? ""
                                                        : "in ") +
        finding.where +
        (bytes >= kMiB && !readsOwnValues(kind) ? ", " + formatBytes(bytes) + " moved" : "");
    std::int64_t ownNs = 0;
    for (const TimeRange& each : own) ownNs += each.endNs - each.beginNs;
    if (ownNs > 0 && kLeastOwnPart * ownNs >= totalNs) {
      finding.evidence += "; for " + costText(checked.perStepMs(ownNs)) +
                          " of it the device works on that op alone, which another form may save";
    }
  }
};

/// Where an op was called: its op, what made it wait, phase, and line.
using Caller = std::tuple<NameId, events::SyncKind, events::Phase, std::string>;

/// The waits of each line of the steps, without those of loops.
using LostByCaller = std::map<Caller, LostTime>;

/// Reads of single values, one after the other in one part of a step. The device can do no more
/// than one round of the loop ahead of the host.
struct ReadLoop {
  LostTime lost;                  ///< the reads
  std::vector<TimeRange> ranges;  ///< from the first read to the last, in each step
  std::int64_t ns = 0;            ///< of the ranges
  double reads = 0;               ///< in each step that has the loop
};

bool isScalarRead(const events::SyncPoint& sync) {
  return sync.kind() == events::SyncKind::ScalarRead;
}

/// Reads the waits of the steps from the account.
class WaitReader {
 public:
  explicit WaitReader(const CheckedSteps& steps) : steps_(steps), store_(steps.store) {
    walkAccount(store_, steps.firstToLast(), [this](const AccountSpan& span) { take(span); });
    endPart();
  }

  LostByCaller callers;
  std::map<events::Phase, ReadLoop> loops;  ///< by the phase that they are in
  std::uint64_t movedBackBytes = 0;         ///< to the device, in backward

 private:
  void take(const AccountSpan& span) {
    if (row_ != span.row || part_ != span.part) {  // a step or a phase begins
      endPart();
      row_ = span.row;
      part_ = span.part;
    }
    if (span.activity != Activity::Wait || span.ofFallback) return;
    const events::SyncPoint& wait = store_.syncPoints()[span.event];
    if (wait.begin_ns() != span.beginNs) return;  // the rest of a wait that a border cuts
    if (!steps_.holding(wait.step(), wait.begin_ns())) return;
    if (span.part.phase == events::Phase::Backward &&
        wait.kind() == events::SyncKind::CopyToDevice) {
      movedBackBytes += wait.bytes();
    }
    if (isUnplanned(wait) || comesLate(wait, span.part)) waits_.push_back(span.event);
  }

  /// Whether data go to the device between forward and backward of a script: the batch of a step
  /// was moved before, and the copy waits for the forward.
  [[nodiscard]] bool comesLate(const events::SyncPoint& wait, const Part& part) const {
    const bool trains =
        store_.ownScript() && store_.run()->stepsAre == StepsAre::kTraining;  // has a backward
    return trains && wait.kind() == events::SyncKind::CopyToDevice &&
           part.phase == events::Phase::None && part.after == events::Phase::Forward &&
           wait.bytes() >= kLateCopyBytes;
  }

  /// The waits that are reads of a loop, as a test of a wait: those of call sites that the part
  /// reads at twice or more, if they are enough, or else all of its reads.
  [[nodiscard]] std::function<bool(const events::SyncPoint&)> loopReads() const {
    std::map<CallSiteId, std::size_t> reads;
    std::size_t count = 0, again = 0;
    for (const std::uint32_t index : waits_) {
      const events::SyncPoint& wait = store_.syncPoints()[index];
      if (!isScalarRead(wait)) continue;
      ++count;
      const std::size_t ofSite = ++reads[wait.call_site()];
      again += ofSite == 2 ? 2 : ofSite > 2 ? 1 : 0;
    }
    if (count < kLeastLoopReads) return [](const auto&) { return false; };
    if (again < kLeastLoopReads) return isScalarRead;
    return [reads](const events::SyncPoint& wait) {
      return isScalarRead(wait) && reads.at(wait.call_site()) > 1;
    };
  }

  /// Counts the waits of a part of a step, which the walk has left.
  void endPart() {
    const bool mayLoop = waits_.size() >= kLeastLoopReads && part_.phase != events::Phase::LossRead;
    const std::function<bool(const events::SyncPoint&)> isOfLoop =
        mayLoop ? loopReads() : [](const events::SyncPoint&) { return false; };
    std::optional<TimeRange> range;
    const events::SyncPoint* before = nullptr;
    for (const std::uint32_t index : waits_) {
      const events::SyncPoint& wait = store_.syncPoints()[index];
      const bool inLoop = isOfLoop(wait);
      LostTime& lost = inLoop ? loops[part_.phase].lost : ofCaller(wait);
      lost.add(store_, wait, index, wait.bytes());
      lost.kind = wait.kind();
      lost.after = part_.after;
      if (before && waitsForOneOp(store_, *before, wait)) {
        lost.own.push_back({endNsOf(*before), endNsOf(wait)});
      }
      before = &wait;
      if (!inLoop) continue;
      if (!range) range = TimeRange{wait.begin_ns(), wait.begin_ns()};
      range->endNs = std::max(range->endNs, endNsOf(wait));
    }
    if (range) {
      ReadLoop& loop = loops[part_.phase];
      loop.ranges.push_back(*range);
      loop.ns += range->endNs - range->beginNs;
    }
    waits_.clear();
  }

  LostTime& ofCaller(const events::SyncPoint& wait) {
    // All that a phase reads for a log is one finding.
    if (wait.phase() == events::Phase::LossRead) {
      return callers[{kNoId, events::SyncKind::None, wait.phase(), ""}];
    }
    return callers[{wait.op(), wait.kind(), wait.phase(), store_.callSite(wait.call_site())}];
  }

  const CheckedSteps& steps_;
  const LiveStore& store_;
  std::size_t row_ = 0;
  Part part_;
  std::vector<std::uint32_t> waits_;  ///< unplanned ones of the part, as indices
};

bool isEachStep(const CheckedSteps& steps, const LostTime& lost) {
  return static_cast<double>(lost.steps.size()) >=
         kEveryStepShare * static_cast<double>(steps.records.size());
}

/// Whether backward copies as much to the device as these copies took from it.
bool isCopiedBack(const LostTime& lost, std::uint64_t movedBackBytes) {
  return lost.kind == events::SyncKind::CopyToHost && movedBackBytes > 0 &&
         2 * movedBackBytes >= lost.bytes;
}

/// The waits of a line, or of several that have one cause.
struct UsedWaits {
  Caller caller;
  LostTime lost;
  WaitUse use;
};

/// Whether the waits copy as many bytes in a step as the model's weights have, in several tensors.
bool copiesAllWeights(const CheckedSteps& steps, const LostTime& lost) {
  const auto& run = steps.store.run();
  if (!run || run->parameters == 0 || lost.aStep() < kLeastMovedTensors) return false;
  const bool isHalf = run->dtype == "float16" || run->dtype == "bfloat16";
  const double weights = static_cast<double>(run->parameters) * (isHalf ? 2 : 4);
  const double copied = static_cast<double>(lost.bytes) / static_cast<double>(lost.steps.size());
  return copied >= kLeastOfWeights * weights && copied <= weights / kLeastOfWeights;
}

WaitUse useOf(const CheckedSteps& steps, const Caller& caller, const LostTime& lost,
              std::uint64_t movedBackBytes) {
  const auto& [op, kind, phase, line] = caller;
  const std::string name = steps.store.name(op);
  WaitCase wait;
  wait.op = name;
  wait.kind = kind;
  wait.phase = phase;
  wait.after = lost.after;
  wait.bytesEach = lost.bytes / lost.count;
  wait.aStep = lost.aStep();
  wait.batch = steps.records.back().batch_size();
  wait.copiedBack = isCopiedBack(lost, movedBackBytes);
  wait.ownScript = steps.store.ownScript();
  wait.site = lost.worstSite(steps.store);
  wait.allWeights = copiesAllWeights(steps, lost);
  return analysis::useOf(wait);
}

void addWaits(const CheckedSteps& steps, const UsedWaits& waits, Findings& findings) {
  const auto& [caller, lost, use] = waits;
  const double waitsMs = steps.perStepMs(lost.totalNs);
  const auto& [op, kind, phase, line] = caller;
  const bool chatty = use.isLog && (isEachStep(steps, lost) || phase == events::Phase::LossRead);
  Finding finding =
      steps.ofTime(chatty ? FindingKind::ChattyLogging : FindingKind::SyncPoint, waitsMs);
  if (finding.weight < kLeastLostShare) return;
  finding.readsForLog = use.isLog || (use.what.empty() && kind == events::SyncKind::ScalarRead);
  finding.readsSize = use.what == kReadsSize;
  finding.rare = 2 * lost.steps.size() < steps.records.size();
  if (use.isFineAtTimes && 20 * lost.steps.size() <= steps.records.size()) return;
  const bool isCheap = waitsMs < kLeastLogShare * steps.medianMs;
  if (use.isLog && isCheap && kFewSteps * lost.steps.size() <= steps.records.size()) return;
  lost.describe(steps, finding, std::string(use.advice));
  if (use.isOne) finding.evidence += lost.linesText(steps.store);
  if (chatty) {
    finding.title = "Chatty logging: the host waits " + costText(waitsMs) + " to read values";
  } else {
    finding.title =
        "Unplanned sync point: " +
        (use.what.empty() ? opLabel(steps.store.name(op), kind) + " makes the host wait "
                          : std::string(use.what) + ", and the host waits ") +
        costText(waitsMs);
  }
  Fix fix = lost.fix();
  if (chatty) fix.remove(HostWork::Reading);  // the rest of the phase prints what was read
  steps.gains.add(findings, std::move(finding), std::move(fix));
}

/// Counts the copies of gradients to the device with the copies that they answer.
void joinWaysBack(std::uint64_t movedBackBytes, LostByCaller& callers) {
  const auto there =
      std::max_element(callers.begin(), callers.end(), [&](const auto& a, const auto& b) {
        const auto bytes = [&](const LostTime& lost) {
          return isCopiedBack(lost, movedBackBytes) ? lost.bytes : 0;
        };
        return bytes(a.second) < bytes(b.second);
      });
  if (there == callers.end() || !isCopiedBack(there->second, movedBackBytes)) return;
  for (auto back = callers.begin(); back != callers.end();) {
    const auto& [op, kind, phase, line] = back->first;
    const bool isWayBack =
        kind == events::SyncKind::CopyToDevice && phase == events::Phase::Backward;
    if (!isWayBack) {
      ++back;
      continue;
    }
    there->second.add(back->second);
    back = callers.erase(back);
  }
}

/// Counts other waits of a loop's line with it: they have the same cause.
void joinLine(const CheckedSteps& steps, events::Phase phase, LostByCaller& callers,
              ReadLoop& loop) {
  const std::string line = loop.lost.worstSite(steps.store).line;
  loop.reads = loop.lost.aStep();
  if (line.empty()) return;
  const std::vector<TimeRange> loops = loop.ranges;  // in order of time
  std::erase_if(callers, [&](const auto& each) {
    const auto& [caller, lost] = each;
    if (std::get<2>(caller) != phase || lost.worstSite(steps.store).line != line) return false;
    loop.lost.add(lost);
    for (const TimeRange& wait : lost.ranges) {
      const auto after =
          std::partition_point(loops.begin(), loops.end(),
                               [&](const TimeRange& range) { return range.endNs <= wait.beginNs; });
      if (after != loops.end() && after->beginNs < wait.endNs) continue;
      loop.ranges.push_back(wait);
      loop.ns += wait.endNs - wait.beginNs;
    }
    return true;
  });
  std::sort(loop.ranges.begin(), loop.ranges.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.beginNs < b.beginNs; });
}

/// Whether the line of the user's that the reads belong to gives an optimizer a closure:
/// optimizer.step(closure). L-BFGS reads values to decide how it goes on.
bool callsWithClosure(const CheckedSteps& steps, events::Phase phase, const LostTime& reads) {
  const std::string text = reads.worstSite(steps.store).text;
  const auto call = text.find("step(");
  if (phase != events::Phase::OptimizerStep || call == std::string::npos) return false;
  return text.find("closure", call) != std::string::npos ||
         text.find("lambda", call) != std::string::npos;
}

/// What to do about a loop of reads in a phase of a script.
std::string loopAdvice(const CheckedSteps& steps, events::Phase phase, const LostTime& reads) {
  if (checksDistribution(reads.worstSite(steps.store).library))
    return std::string(kUncheckedAdvice);
  // Not of what a closure computes, which the optimizer calls.
  const bool ofOptimizer = phase == events::Phase::OptimizerStep &&
                           reads.worstSite(steps.store).text.find("step(") != std::string::npos;
  if (ofOptimizer) {
    return "the optimizer reads values of its state one by one. Where they are the step counters, "
           "they lie on the device, as after a checkpoint was loaded there: once after "
           "load_state_dict(), for state in optimizer.state.values(): state[\"step\"] = "
           "state[\"step\"].cpu()";
  }
  const std::string text = reads.worstSite(steps.store).text;
  // To turn a tensor into text, PyTorch first selects which of its values are finite.
  if (formats(text) && reads.hasOp(steps.store, "aten::masked_select")) {
    return "a tensor that is on the device is turned into text, which reads its values one by one, "
           "also for a message that a log's level then drops: pass a logger the tensor itself "
           "(logger.debug(\"%s\", x)), format it only where it is shown, at times, and then "
           "x.cpu()";
  }
  if (!isCondition(text) && text.find(".item(") != std::string::npos) {
    return "keep the values on the device, and read them together: torch.stack(values).tolist(); "
           "read what only serves a log or a metric every few steps. Values that one tensor holds: "
           ".tolist() of it, once, before the loop";
  }
  if (givesNumber(text)) return std::string(kNumberAdvice);
  if (isCondition(text)) {
    return "keep what only Python asks for, such as a flag or a counter, as a bool or a number of "
           "Python's, not as a tensor on the device; decide about values on the device, with "
           "torch.where or a mask; or copy the whole tensor to the CPU once, before the loop, and "
           "go through it there. What only Python walks through, such as a tree, keep on the CPU";
  }
  return "copy the whole tensor to the CPU once, before the loop, and go through it there; keep "
         "numbers that only Python uses on the CPU from the start; or write the loop as ops of a "
         "fixed size on the device, with a mask in place of a condition. If its result only serves "
         "a metric, compute that every few steps";
}

/// Says that a loop of reads is that of anomaly detection, which reads each gradient.
void nameAnomalyDetection(const std::string& line, long aStep, Finding& finding) {
  finding.kind = FindingKind::AnomalyDetection;
  finding.line = line;
  finding.title = "Anomaly detection is on: backward reads " + std::to_string(aStep) +
                  " values a step, " + costText(*finding.waitsMs);
  finding.evidence +=
      "; backward looks for NaN in each gradient, and forward notes where each op "
      "was called";
  finding.advice = "at " + finding.line +
                   ": backward runs under torch.autograd.set_detect_anomaly(True) or "
                   "detect_anomaly(): leave it out, except to look for a NaN";
}

/// The most that a loop of reads can cost, in ms a step: all of the part of a step that it is in,
/// and backward through what a loop in forward, or after it, computes. Anomaly detection slows
/// forward as well.
double mostOfLoopMs(const CheckedSteps& steps, const TimeAccount& account, events::Phase phase,
                    const ReadLoop& loop, bool isAnomalyDetection) {
  using events::Phase;
  const bool goesBack =
      phase == Phase::Forward || (phase == Phase::None && loop.lost.after == Phase::Forward);
  return steps.perStepMs(account.nsWhere([&](const AccountRow& row) {
    if (row.part.region != Region::Step) return false;
    const bool isPart =
        row.part.phase == phase && (phase != Phase::None || row.part.after == loop.lost.after);
    return isPart || (goesBack && row.part.phase == Phase::Backward) ||
           (isAnomalyDetection && row.part.phase == Phase::Forward);
  }));
}

void addLoop(const CheckedSteps& steps, const TimeAccount& account, events::Phase phase,
             const ReadLoop& loop, Findings& findings) {
  if (callsWithClosure(steps, phase, loop.lost)) return;  // it needs them
  const double loopMs = steps.perStepMs(loop.ns);
  Finding finding = steps.ofTime(FindingKind::SyncPoint, loopMs);
  if (finding.weight < kLeastLostShare) return;
  finding.estimate = true;  // the loop's own work may be needed
  loop.lost.describe(
      steps, finding,
      steps.store.ownScript() ? loopAdvice(steps, phase, loop.lost) : "read all values at once");
  const long aStep = std::lround(loop.reads);
  const bool checks = checksDistribution(loop.lost.worstSite(steps.store).library);
  finding.title =
      std::string(phase == events::Phase::OptimizerStep
                      ? "Reads in a loop in the optimizer's step: "
                  : checks ? "Reads in a loop, as torch.distributions checks its arguments: "
                           : "Reads in a loop: ") +
      std::to_string(aStep) +
      " times a step the host waits for a value; from the first to "
      "the last they take " +
      costText(loopMs) + ", of which it waits " + formatMs(steps.perStepMs(loop.lost.totalNs));
  finding.evidence +=
      "; in the rest the device waits for the host" + loop.lost.linesText(steps.store);
  const CodeSign* anomaly = steps.store.sign(kAnomalySign);
  const bool isAnomalyDetection = phase == events::Phase::Backward && anomaly;
  if (isAnomalyDetection) nameAnomalyDetection(anomaly->line, aStep, finding);
  steps.gains.noteLoopWork(phase, std::max(loopMs - steps.perStepMs(loop.lost.totalNs), 0.0));
  Fix fix = loop.lost.fix();
  fix.leftOut = loop.ranges;
  steps.gains.add(findings, std::move(finding), std::move(fix),
                  mostOfLoopMs(steps, account, phase, loop, isAnomalyDetection));
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

/// Tells of tensors that go to the device and come back in each step, as those of a model that is
/// moved there only while it is used.
void findMovesBack(const CheckedSteps& steps, Findings& findings) {
  if (!steps.store.ownScript()) return;
  const LiveStore& store = steps.store;
  const TimeRange range = steps.firstToLast();
  const auto counts = [&range](const events::SyncPoint& each) {
    const bool isGradient = each.phase() == events::Phase::Backward;  // of what is on the CPU
    return !isGradient && each.begin_ns() >= range.beginNs && each.begin_ns() < range.endNs;
  };
  const CopiedLine there = mostCopied(store, events::SyncKind::CopyToDevice, counts);
  const CopiedLine back = mostCopied(store, events::SyncKind::CopyToHost, counts);
  if (there.line.empty() || back.line.empty()) return;
  const auto isNear = [](std::uint64_t a, std::uint64_t b) {
    return 10 * std::max(a, b) <= 11 * std::min(a, b);
  };
  const auto count = static_cast<double>(steps.records.size());
  const double bytes = static_cast<double>(back.bytes) / count;
  if (!isNear(there.bytes, back.bytes) || bytes < kLeastMovedBytes) return;
  if (!isNear(there.count, back.count) ||
      static_cast<double>(back.count) < kLeastMovedTensors * count) {
    return;
  }
  LostTime moves;
  for (std::size_t i = 0; i < store.syncPoints().size(); ++i) {
    const events::SyncPoint& each = store.syncPoints()[i];
    const bool goes = each.kind() == events::SyncKind::CopyToDevice;
    if ((!goes && each.kind() != events::SyncKind::CopyToHost) || !counts(each)) continue;
    if (store.callSiteParts(each.call_site()).line != (goes ? there : back).line) continue;
    moves.add(store, each, i, each.bytes());
  }
  Finding finding = steps.ofTime(FindingKind::MovedBack, steps.perStepMs(moves.totalNs));
  if (finding.weight < kLeastLostShare) return;
  moves.describe(
      steps, finding,
      "leave on the device what each step needs: on a Mac it is the same memory, so that "
      "moving it away saves little. What a frozen model computes for each sample can be "
      "computed once, before the training");
  finding.line = there.line;
  finding.title = "Moved there and back: each step copies " +
                  formatBytes(static_cast<std::uint64_t>(bytes)) +
                  " to the device and to the CPU, " + costText(*finding.waitsMs);
  finding.evidence += "; to the device at " + there.line + ", back at " + back.line;
  // What is waited for is the copies themselves.
  const double mostMs = *finding.waitsMs;
  steps.gains.add(findings, std::move(finding), moves.fix(), mostMs);
}

/// What an op costs that falls back to the CPU.
struct Fallbacks {
  LostTime lost;
  std::int64_t waitNs = 0;  ///< for queued work of the device, copies included
  double calls = 0;         ///< of the op, without its backward, in each step that has one
  bool hasBackward = false;
};

/// Counts the backward of an op with the op: they fall back for the same reason, at the same line.
void joinBackwards(std::map<std::string, Fallbacks>& byOp) {
  constexpr std::string_view kBackward = "_backward";
  for (auto each = byOp.begin(); each != byOp.end();) {
    const auto& [op, fallbacks] = *each;
    const auto forward = op.ends_with(kBackward)
                             ? byOp.find(op.substr(0, op.size() - kBackward.size()))
                             : byOp.end();
    if (forward == byOp.end()) {
      ++each;
      continue;
    }
    forward->second.lost.add(fallbacks.lost);
    forward->second.waitNs += fallbacks.waitNs;
    forward->second.hasBackward = true;
    each = byOp.erase(each);
  }
}

void addFallback(const CheckedSteps& steps, const std::string& op, const Fallbacks& fallbacks,
                 const std::string& switches, Findings& findings) {
  const LostTime& lost = fallbacks.lost;
  const double costMs = steps.perStepMs(lost.totalNs);
  Finding finding = steps.ofTime(FindingKind::Fallback, costMs);
  if (finding.weight < kLeastLostShare) return;
  std::string advice(fallbackAdvice(op));
  if (fallbacks.calls >= kLeastCallsOfALoop) {
    // From one loop over the rows of a batch: the op may take them all.
    advice = "it is called " + std::to_string(std::lround(fallbacks.calls)) +
             " times a step: call it once for the whole batch, as ops of torch.linalg take a "
             "batch of matrices; or " +
             advice;
  }
  advice += steps.store.ownScript() ? ", or call it less often than at each step; or accept it"
                                    : ", or move it out of the step; or accept it";
  lost.describe(steps, finding, advice);
  if (finding.where.find(".parametrizations.") != std::string::npos &&
      fallbacks.calls >= kLeastCallsOfALoop) {
    finding.advice =
        "a parametrization computes its weight anew at each use. Where a layer is used several "
        "times in one forward pass, as a recurrent cell is, put that pass under "
        "torch.nn.utils.parametrize.cached(), which computes it once. Else " +
        finding.advice;
  }
  // Autograd's threads have no call site, but the op of a backward has a forward.
  if (const std::string line = lost.anyLine(steps.store); finding.line.empty() && !line.empty()) {
    finding.line = line;
    finding.advice = "the forward is at " + line + ": " + finding.advice;
  }
  // Without the fallback, part of this wait would move to the next sync point.
  finding.evidence += "; " + formatMs(steps.perStepMs(fallbacks.waitNs)) +
                      " of this is waiting for queued device work, copies included" + switches;
  finding.title =
      "Fallback: " + op +
      (fallbacks.hasBackward ? " and its backward run on the CPU and block"
                             : " runs on the CPU and blocks") +
      " the host, " + costText(costMs) +
      (2 * fallbacks.waitNs > lost.totalNs ? ", most of it waiting for the device" : "");
  steps.gains.add(findings, std::move(finding), lost.fix());
}

}  // namespace

CopiedLine mostCopied(const LiveStore& store, events::SyncKind kind,
                      const std::function<bool(const events::SyncPoint&)>& counts) {
  std::map<CallSiteId, CopiedLine> bySite;
  for (const events::SyncPoint& each : store.syncPoints()) {
    if (each.kind() != kind || !counts(each)) continue;
    CopiedLine& copied = bySite[each.call_site()];
    copied.bytes += each.bytes();
    ++copied.count;
  }
  std::map<std::string, CopiedLine> byLine;
  for (const auto& [site, copied] : bySite) {
    const std::string line = store.callSiteParts(site).line;
    CopiedLine& all = byLine[line];
    all.line = line;
    all.bytes += copied.bytes;
    all.count += copied.count;
  }
  byLine.erase("");
  const auto most = std::max_element(
      byLine.begin(), byLine.end(),
      [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  return most == byLine.end() ? CopiedLine() : most->second;
}

void findFallbacks(const CheckedSteps& steps, Findings& findings) {
  const LiveStore& store = steps.store;
  std::map<std::string, Fallbacks> byOp;
  for (const events::FallbackEvent& each : store.fallbacks()) {
    if (!steps.holding(each.step(), each.begin_ns())) continue;
    Fallbacks& fallbacks = byOp[store.name(each.op())];
    fallbacks.waitNs += each.wait_ns();
    fallbacks.lost.add(store, each, static_cast<std::size_t>(&each - store.fallbacks().data()),
                       each.bytes_to_cpu() + each.bytes_to_device());
  }
  // The switches are those of the whole run.
  const std::string switches =
      byOp.empty() || steps.ofRange ? "" : switchesText(summarizePaths(store));
  for (auto each = byOp.begin(); each != byOp.end();) {
    const auto& [op, fallbacks] = *each;
    const FallbackAcceptance* accepted = store.acceptanceOf(op);
    if (accepted) {
      findings.accepted.push_back(
          {op, accepted->reason, fallbacks.lost.count, steps.perStepMs(fallbacks.lost.totalNs)});
    }
    each = accepted ? byOp.erase(each) : std::next(each);
  }
  for (auto& [op, fallbacks] : byOp) fallbacks.calls = fallbacks.lost.aStep();
  joinBackwards(byOp);
  for (const auto& [op, fallbacks] : byOp) addFallback(steps, op, fallbacks, switches, findings);
}

void findSyncPoints(const CheckedSteps& steps, Findings& findings) {
  WaitReader waits(steps);
  LostByCaller callers = std::move(waits.callers);
  for (auto& [phase, loop] : waits.loops) joinLine(steps, phase, callers, loop);
  if (!waits.loops.empty()) {
    const TimeAccount account = accountTime(steps.store, steps.firstToLast());
    for (const auto& [phase, loop] : waits.loops) addLoop(steps, account, phase, loop, findings);
  }
  joinWaysBack(waits.movedBackBytes, callers);
  std::vector<UsedWaits> used;
  for (auto& [caller, lost] : callers) {
    const WaitUse use = useOf(steps, caller, lost, waits.movedBackBytes);
    const auto same = std::find_if(used.begin(), used.end(), [&](const UsedWaits& each) {
      return use.isOne && each.use.what == use.what;
    });
    if (same != used.end()) {
      same->lost.add(lost);
    } else {
      used.push_back({caller, std::move(lost), use});
    }
  }
  for (const UsedWaits& each : used) addWaits(steps, each, findings);
  findMovesBack(steps, findings);
}

}  // namespace highwater::analysis
