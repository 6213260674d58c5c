#include "analysis/run_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "analysis/account/time_account.h"
#include "analysis/device/host_timeline.h"
#include "analysis/ranked_values.h"
#include "analysis/statistics.h"
#include "analysis/totals_tree.h"
#include "analysis/whole_steps.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr TimeRange kWholeRun{std::numeric_limits<std::int64_t>::min(),
                              std::numeric_limits<std::int64_t>::max()};

/// The rows of sorted `timesNs` that lie in the range.
std::pair<std::size_t, std::size_t> rowsIn(const std::vector<std::int64_t>& timesNs,
                                           const TimeRange& range) {
  const auto first = std::lower_bound(timesNs.begin(), timesNs.end(), range.beginNs);
  const auto last = std::lower_bound(first, timesNs.end(), range.endNs);
  return {first - timesNs.begin(), last - timesNs.begin()};
}

/// Calls f(span) for each span of the lane that begins in the range.
template <typename F>
void forEachBeginningIn(const SpanIndex& lane, const TimeRange& range, F&& f) {
  const auto [first, last] = lane.touching(range.beginNs, range.endNs);
  for (std::size_t i = first; i < last; ++i) {
    if (lane[i].beginNs >= range.beginNs) f(lane[i]);
  }
}

std::int64_t endOf(const events::StepRecord& step) {
  return step.begin_ns() + step.duration_ns();
}

/// What tells two totals apart: op, kind of sync, planned, phase, module, line.
using OpKey = std::tuple<NameId, events::SyncKind, bool, events::Phase, ModuleId, CallSiteId>;
using OpTotals = std::map<OpKey, OpTotal>;

template <typename Event>
OpTotal& count(OpTotals& totals, const Event& event, events::SyncKind kind, bool planned,
               std::uint64_t bytes) {
  OpTotal& total =
      totals[{event.op(), kind, planned, event.phase(), event.module_id(), event.call_site()}];
  total.deliberate = planned;
  ++total.count;
  total.totalNs += event.duration_ns();
  total.bytes += bytes;
  return total;
}

std::vector<OpTotal> sorted(const LiveStore& store, const OpTotals& byKey) {
  // Lines of one place that read the same are one row.
  std::map<std::tuple<std::string, std::string, events::SyncKind, bool>, OpTotal> rows;
  for (const auto& [key, counted] : byKey) {
    const auto& [op, kind, planned, phase, module, site] = key;
    const std::string name = store.name(op), where = store.placeText(phase, module, site);
    const auto [row, isNew] = rows.try_emplace({name, where, kind, planned}, counted);
    OpTotal& total = row->second;
    if (isNew) {
      total.op = name;
      total.where = where;
      total.kind = kind;
      total.site = site;
    } else {
      total.add(counted);
    }
  }
  std::vector<OpTotal> totals;
  totals.reserve(rows.size());
  for (auto& [key, total] : rows) totals.push_back(std::move(total));
  std::stable_sort(totals.begin(), totals.end(),
                   [](const OpTotal& a, const OpTotal& b) { return a.totalNs > b.totalNs; });
  return totals;
}

/// The durations of the steps of a range, for a few questions. RankedValues answers many, but takes
/// longer to fill.
class DurationList {
 public:
  void add(std::int64_t ns) { values_.push_back(static_cast<double>(ns)); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::int64_t at(std::size_t rank) {
    const auto place = values_.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values_.begin(), place, values_.end());
    return static_cast<std::int64_t>(*place);
  }
  [[nodiscard]] std::int64_t percentile(std::size_t percent) {
    return static_cast<std::int64_t>(percentileOf(values_, percent));
  }
  [[nodiscard]] std::size_t countBelow(std::int64_t ns) const {
    const auto below = static_cast<double>(ns);
    return static_cast<std::size_t>(std::count_if(values_.begin(), values_.end(),
                                                  [below](double each) { return each < below; }));
  }

 private:
  std::vector<double> values_;  ///< in ns; a double holds more than 100 days of them exactly
};

template <typename Durations>
StepHistogram histogramOf(Durations& durationsNs) {
  StepHistogram histogram;
  const std::int64_t low = durationsNs.at(0), high = durationsNs.at(durationsNs.size() - 1);
  histogram.lowMs = toMs(low);
  histogram.highMs = toMs(high);
  std::size_t before = 0;
  for (std::size_t bin = 0; bin < StepHistogram::kBins; ++bin) {
    const double share = static_cast<double>(bin + 1) / StepHistogram::kBins;
    const bool last = bin + 1 == StepHistogram::kBins;
    const auto edge = low + static_cast<std::int64_t>(static_cast<double>(high - low) * share);
    const std::size_t upTo = last ? durationsNs.size() : durationsNs.countBelow(edge);
    histogram.counts[bin] = upTo - before;
    before = upTo;
  }
  return histogram;
}

/// Which sum of the steps' time an event is a part of.
enum class PartKind : std::uint8_t {
  kPhase,
  kFallback,
  kUnplannedSync,
  kPlannedSync,
  kFallbackWait
};

/// An event, as far as the step that contains it counts it.
struct StepPart {
  std::int64_t beginNs = 0, ns = 0;
  PartKind part = PartKind::kPhase;
  events::Phase phase = events::Phase::None;
  OpTotal* total = nullptr;  ///< of the event's row; the nodes of a map stay where they are
};

/// Sums of phases, waits and fallbacks.
struct EventSums {
  std::array<double, 7> phaseMs{};  ///< within steps, as all that is in ms
  double fallbackMs = 0, unplannedSyncMs = 0, plannedSyncMs = 0, outsideWaitMs = 0;
  OpTotals syncPoints, fallbacks;

  void add(const EventSums& other) {
    for (std::size_t i = 0; i < phaseMs.size(); ++i) phaseMs[i] += other.phaseMs[i];
    fallbackMs += other.fallbackMs;
    unplannedSyncMs += other.unplannedSyncMs;
    plannedSyncMs += other.plannedSyncMs;
    outsideWaitMs += other.outsideWaitMs;
    addTotals(syncPoints, other.syncPoints);
    addTotals(fallbacks, other.fallbacks);
  }

  /// What is left of them in a range that holds no step as a whole.
  [[nodiscard]] EventSums withoutSteps() const {
    EventSums all;
    all.syncPoints = syncPoints;
    all.fallbacks = fallbacks;
    for (OpTotals* totals : {&all.syncPoints, &all.fallbacks}) {
      for (auto& [key, total] : *totals) {
        total.inStepsNs = total.unplannedNs = 0;
        total.unplannedCount = 0;
      }
    }
    return all;
  }

 private:
  static void addTotals(OpTotals& to, const OpTotals& added) {
    for (const auto& [key, total] : added) {
      const auto [at, isNew] = to.try_emplace(key, total);
      if (!isNew) at->second.add(total);
    }
  }
};

/// Adds up events one by one.
struct Counts {
  RunSummary summary;  ///< only firsts, lasts and peaks; finish() adds the rest
  EventSums sums;
  TimeRange steps = kWholeRun;  ///< only steps within count
  std::size_t stepCount = 0;
  std::uint64_t tokens = 0;
  std::int64_t stepsNs = 0;
  std::uint64_t firstTokens = 0;  ///< of the run's first step, where it is one of these
  std::int64_t firstNs = 0;
  bool allExact = true;
  std::vector<StepPart> open;  ///< of steps that have not finished; a heap, the earliest on top

  void add(const LiveStore& store, const events::StepRecord& step) {
    if (stepCount++ == 0) summary.firstStep = step.step();
    if (step.step() == store.steps().records.front().step()) {
      firstTokens = step.tokens();
      firstNs = step.duration_ns();
    }
    summary.lastStep = step.step();
    tokens += step.tokens();
    stepsNs += step.duration_ns();
    if (step.loss_read() != 0) {
      if (!summary.lossFirst) summary.lossFirst = step.loss();
      summary.lossLast = step.loss();
    }
    summary.currentPeakBytes = std::max(summary.currentPeakBytes, step.peak_current_bytes());
    summary.driverPeakBytes = std::max(summary.driverPeakBytes, step.peak_driver_bytes());
    allExact = allExact && step.peak_current_exact() != 0;
  }

  void add(const LiveStore& store, const events::PhaseSpan& phase) {
    addPart(store,
            {phase.begin_ns(), phase.duration_ns(), PartKind::kPhase, phase.phase(), nullptr});
  }

  void add(const LiveStore& store, const events::SyncPoint& sync) {
    OpTotal& total =
        count(sums.syncPoints, sync, sync.kind(), sync.deliberate() != 0, sync.bytes());
    const PartKind part = isUnplanned(sync)                           ? PartKind::kUnplannedSync
                          : sync.kind() == events::SyncKind::Fallback ? PartKind::kFallbackWait
                                                                      : PartKind::kPlannedSync;
    addPart(store, {sync.begin_ns(), sync.duration_ns(), part, sync.phase(), &total});
  }

  void add(const LiveStore& store, const events::FallbackEvent& fallback) {
    OpTotal& total = count(sums.fallbacks, fallback, events::SyncKind::None, false,
                           fallback.bytes_to_cpu() + fallback.bytes_to_device());
    addPart(store, {fallback.begin_ns(), fallback.duration_ns(), PartKind::kFallback,
                    fallback.phase(), &total});
  }

  void add(const LiveStore&, const events::Evaluation& evaluation) {
    summary.heldOutAccuracy = evaluation.accuracy();
  }

  /// Counts the parts of steps that have finished since they were added.
  void addOpen(const LiveStore& store) {
    while (!open.empty() && !isOpen(store, open.front())) {
      std::pop_heap(open.begin(), open.end(), isLater);
      const StepPart part = open.back();
      open.pop_back();
      addPart(store, part);
    }
  }

  void addEvaluations(const LiveStore& store, const TimeRange& range) {
    for (const events::Evaluation& evaluation : store.evaluations()) {
      if (evaluation.time_ns() >= range.beginNs && evaluation.time_ns() < range.endNs) {
        add(store, evaluation);
      }
    }
  }

  /// The summary of `range`; `durationsNs` are those of the counted steps.
  template <typename Durations>
  [[nodiscard]] RunSummary finish(const LiveStore& store, const TimeRange& range,
                                  Durations& durationsNs) const;

 private:
  static bool isLater(const StepPart& a, const StepPart& b) { return a.beginNs > b.beginNs; }
  /// Whether the step that contains the event may still be to come.
  static bool isOpen(const LiveStore& store, const StepPart& part) {
    const auto& records = store.steps().records;
    return records.empty() || part.beginNs >= endOf(records.back());
  }

  /// Counts an event as part of the step that contains it. One between two steps, such as that of
  /// an evaluation, is part of none.
  void addPart(const LiveStore& store, const StepPart& part) {
    if (isOpen(store, part)) {
      open.push_back(part);
      std::push_heap(open.begin(), open.end(), isLater);
      return;
    }
    const events::StepRecord* step = stepContaining(store, part.beginNs);
    if (!step || step->begin_ns() < steps.beginNs || endOf(*step) > steps.endNs) return;
    const std::int64_t ns = std::min(part.ns, endOf(*step) - part.beginNs);
    if (part.total) part.total->inStepsNs += ns;
    if (part.total && (part.part == PartKind::kFallback || part.part == PartKind::kUnplannedSync)) {
      ++part.total->unplannedCount;
      part.total->unplannedNs += ns;
    }
    const double ms = toMs(ns);
    const auto phase = static_cast<std::size_t>(part.phase);
    const bool waits = part.part == PartKind::kUnplannedSync || part.part == PartKind::kPlannedSync;
    if (waits && part.phase == events::Phase::None) sums.outsideWaitMs += ms;
    switch (part.part) {
      case PartKind::kPhase:
        if (phase < sums.phaseMs.size()) sums.phaseMs[phase] += ms;
        break;
      case PartKind::kFallback:
        sums.fallbackMs += ms;
        break;
      case PartKind::kUnplannedSync:
        sums.unplannedSyncMs += ms;
        break;
      case PartKind::kPlannedSync:
        sums.plannedSyncMs += ms;
        break;
      case PartKind::kFallbackWait:
        break;  // counts as part of the fallback
    }
  }
};

/// A sample between two steps may exceed the peak of every step.
void addMemory(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  const MemoryColumns& memory = store.memory();
  if (store.hello()) summary.recommendedBytes = store.hello()->limits.recommendedBytes;
  summary.memoryCounted = summary.currentPeakBytes > 0 || summary.driverPeakBytes > 0;
  const auto [first, last] = rowsIn(memory.timesNs, range);
  if (first == last) return;
  summary.memoryCounted = true;
  const auto current = static_cast<std::uint64_t>(memory.current.minMax(first, last).max);
  if (current > summary.currentPeakBytes) {
    summary.currentPeakBytes = current;
    summary.currentPeakExact = false;
  }
  const auto driver = static_cast<std::uint64_t>(memory.driver.minMax(first, last).max);
  summary.driverPeakBytes = std::max(summary.driverPeakBytes, driver);
  summary.recommendedBytes = static_cast<std::uint64_t>(memory.recommended[last - 1]);
}

void addGpu(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  const SystemColumns& system = store.system();
  const auto [first, last] = rowsIn(system.timesNs, range);
  std::vector<double> known;
  for (std::size_t row = first; row < last; ++row) {
    if (!std::isnan(system.gpuPercent[row])) known.push_back(system.gpuPercent[row]);
  }
  if (known.empty()) return;
  summary.gpuPercentP50 = percentileOf(known, 50);
  summary.gpuPercentMax = *std::max_element(known.begin(), known.end());
}

std::optional<std::uint64_t> bytesIfKnown(double value) {
  if (std::isnan(value)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

void addSystem(const LiveStore& store, const TimeRange& range, SystemSummary& summary) {
  const SystemColumns& system = store.system();
  const auto [first, last] = rowsIn(system.timesNs, range);
  if (first == last) return;
  summary.footprintPeakBytes = bytesIfKnown(system.footprint.minMax(first, last).max);
  summary.availableLowBytes = bytesIfKnown(system.available.minMax(first, last).min);
  summary.swapUsedPeakBytes = bytesIfKnown(system.swapUsed.minMax(first, last).max);
  for (std::size_t row = first; row < last; ++row) {
    const auto level = static_cast<std::size_t>(system.pressure[row]);
    if (level < summary.pressureSamples.size()) ++summary.pressureSamples[level];
  }
}

/// Counts the duration of a step that is like the run's others.
template <typename Durations>
void addDuration(const LiveStore& store, const events::StepRecord& step, Durations& durationsNs) {
  if (!store.isTried(step.step())) durationsNs.add(step.duration_ns());
}

template <typename Durations>
RunSummary Counts::finish(const LiveStore& store, const TimeRange& range,
                          Durations& durationsNs) const {
  RunSummary done = summary;
  done.steps = stepCount;
  done.phaseMs = sums.phaseMs;
  done.fallbackMs = sums.fallbackMs;
  done.unplannedSyncMs = sums.unplannedSyncMs;
  done.plannedSyncMs = sums.plannedSyncMs;
  done.outsideWaitMs = sums.outsideWaitMs;
  done.stepsMs = toMs(stepsNs);
  done.currentPeakExact = allExact && done.steps > 0;
  done.rateLeavesOutFirst = firstNs > 0 && stepsNs > firstNs;
  std::int64_t ratedNs = done.rateLeavesOutFirst ? stepsNs - firstNs : stepsNs;
  // What the steps have queued is done when the host has waited for it.
  const StepRows rows = wholeStepsIn(store, range);
  const std::int64_t drained = drainedNs(store, rows, range.endNs);
  done.drainedMs = toMs(drained);
  done.rateHasDrain = drained > 0;
  const bool hasQueue = store.hello() && store.hello()->device.selected == "mps";
  done.rateIsQueued =
      hasQueue && !rows.empty() &&
      possibleDrains(store, {rows.in(store).front().begin_ns(), wholeRun(store).endNs}, 1) == 0;
  ratedNs += drained;
  const std::uint64_t rated = done.rateLeavesOutFirst ? tokens - firstTokens : tokens;
  if (ratedNs > 0) {
    done.tokensPerS = static_cast<double>(rated) / (static_cast<double>(ratedNs) / kNsPerS);
  }
  if (durationsNs.size() > 0) {
    done.stepMsP50 = toMs(durationsNs.percentile(50));
    done.stepMsP95 = toMs(durationsNs.percentile(95));
    done.histogram = histogramOf(durationsNs);
  }
  if (done.steps > 0) {
    done.stepMsMean =
        toMs(ratedNs) / static_cast<double>(done.steps - (done.rateLeavesOutFirst ? 1 : 0));
  }
  done.syncPoints = sorted(store, sums.syncPoints);
  done.fallbacks = sorted(store, sums.fallbacks);
  addMemory(store, range, done);
  addGpu(store, range, done);
  addSystem(store, range, done.system);
  done.machine = summarizeMachine(store, range);
  return done;
}

/// Counts the events that were added to a vector since the last call.
template <typename Event>
void addNew(Counts& counts, const LiveStore& store, const std::vector<Event>& column,
            std::size_t& seen) {
  for (; seen < column.size(); ++seen) counts.add(store, column[seen]);
}

}  // namespace

void OpTotal::add(const OpTotal& other) {
  count += other.count;
  totalNs += other.totalNs;
  inStepsNs += other.inStepsNs;
  bytes += other.bytes;
  deliberate = deliberate && other.deliberate;
  unplannedCount += other.unplannedCount;
  unplannedNs += other.unplannedNs;
}

events::Pressure SystemSummary::highestPressure() const {
  for (std::size_t level = pressureSamples.size() - 1; level > 0; --level) {
    if (pressureSamples[level] > 0) return static_cast<events::Pressure>(level);
  }
  return events::Pressure::Unknown;
}

double SystemSummary::shareFrom(events::Pressure level) const {
  std::uint64_t all = 0, from = 0;
  for (std::size_t i = 1; i < pressureSamples.size(); ++i) {
    all += pressureSamples[i];
    if (i >= static_cast<std::size_t>(level)) from += pressureSamples[i];
  }
  return all > 0 ? static_cast<double>(from) / static_cast<double>(all) : 0;
}

const events::StepRecord* stepContaining(const LiveStore& store, std::int64_t ns) {
  const auto& records = store.steps().records;
  const auto after =
      std::partition_point(records.begin(), records.end(),
                           [ns](const events::StepRecord& step) { return step.begin_ns() <= ns; });
  if (after == records.begin()) return nullptr;
  const events::StepRecord& step = *(after - 1);
  return ns < endOf(step) ? &step : nullptr;
}

TimeRange withoutCutSteps(const LiveStore& store, const TimeRange& range) {
  const auto& records = store.steps().records;
  const StepRows rows = wholeStepsIn(store, range);
  if (rows.empty()) return range;
  TimeRange whole = range;
  if (rows.first > 0) whole.beginNs = std::max(range.beginNs, endOf(records[rows.first - 1]));
  if (rows.last < records.size()) {
    whole.endNs = std::min(range.endNs, records[rows.last].begin_ns());
  }
  return whole;
}

RunSummary summarize(const LiveStore& store, std::optional<TimeRange> given) {
  const TimeRange range = given.value_or(kWholeRun);
  const TimeRange whole = given ? withoutCutSteps(store, range) : range;
  Counts counts;
  counts.steps = whole;
  DurationList durationsNs;
  forEachBeginningIn(store.steps().lane, whole, [&](const Span& span) {
    if (span.endNs > whole.endNs) return;
    counts.add(store, store.steps().records[span.payload]);
    addDuration(store, store.steps().records[span.payload], durationsNs);
  });
  if (durationsNs.size() == 0) {  // a range within a try
    forEachBeginningIn(store.steps().lane, whole, [&](const Span& span) {
      if (span.endNs <= whole.endNs) {
        durationsNs.add(store.steps().records[span.payload].duration_ns());
      }
    });
  }
  forEachBeginningIn(store.phaseLane(), whole,
                     [&](const Span& span) { counts.add(store, store.phases()[span.payload]); });
  forEachBeginningIn(store.syncLane(), whole, [&](const Span& span) {
    counts.add(store, store.syncPoints()[span.payload]);
  });
  forEachBeginningIn(store.fallbackLane(), whole,
                     [&](const Span& span) { counts.add(store, store.fallbacks()[span.payload]); });
  counts.addEvaluations(store, range);
  return counts.finish(store, range, durationsNs);
}

struct RunningSummary::Counted {
  using Tree = TotalsTree<EventSums, 1024>;
  Counts counts;
  RankedValues durationsNs;
  std::size_t steps = 0, phases = 0, syncPoints = 0, fallbacks = 0, evaluations = 0;
  Tree phaseTree, syncTree, fallbackTree;

  void growTrees(const LiveStore& store) {
    grow(phaseTree, store, store.phases());
    grow(syncTree, store, store.syncPoints());
    grow(fallbackTree, store, store.fallbacks());
  }

  /// Adds the events of a column to `counts` that begin in counts.steps, which is
  /// withoutCutSteps() of a range: each event in it that lies in a step lies in a step that counts.
  template <typename Event>
  static void addFrom(const Tree& tree, const LiveStore& store, const std::vector<Event>& column,
                      Counts& counts) {
    const TimeRange range = counts.steps;
    const auto addRows = [&](std::size_t first, std::size_t last) {
      for (std::size_t row = first; row < last; ++row) {
        const std::int64_t ns = column[row].begin_ns();
        if (ns >= range.beginNs && ns < range.endNs) counts.add(store, column[row]);
      }
    };
    tree.query(
        range, 0,
        [&](const EventSums& whole) {
          counts.sums.add(counts.stepCount > 0 ? whole : whole.withoutSteps());
        },
        addRows);
    addRows(tree.rows(), column.size());
  }

 private:
  /// Moves complete leaves of events into their tree. An event after the last finished step has to
  /// wait: the step that contains it may still come.
  template <typename Event>
  static void grow(Tree& tree, const LiveStore& store, const std::vector<Event>& column) {
    const auto& steps = store.steps().records;
    if (steps.empty()) return;
    while (column.size() - tree.rows() >= Tree::kLeafRows) {
      const auto events = std::span(column).subspan(tree.rows(), Tree::kLeafRows);
      Tree::Node leaf;
      for (const Event& event : events) leaf.reach(event.begin_ns());
      if (leaf.lastNs >= endOf(steps.back())) return;
      Counts counts;
      for (const Event& event : events) counts.add(store, event);
      leaf.totals = std::move(counts.sums);
      tree.add(std::move(leaf));
    }
  }
};

RunningSummary::RunningSummary(const LiveStore* store)
    : store_(store), counted_(std::make_unique<Counted>()) {}

RunningSummary::~RunningSummary() = default;

void RunningSummary::reset() {
  *counted_ = Counted();
}

RunSummary RunningSummary::update() {
  Counted& c = *counted_;
  for (; c.steps < store_->steps().records.size(); ++c.steps) {
    const events::StepRecord& step = store_->steps().records[c.steps];
    c.counts.add(*store_, step);
    addDuration(*store_, step, c.durationsNs);
  }
  c.counts.addOpen(*store_);
  addNew(c.counts, *store_, store_->phases(), c.phases);
  addNew(c.counts, *store_, store_->syncPoints(), c.syncPoints);
  addNew(c.counts, *store_, store_->fallbacks(), c.fallbacks);
  addNew(c.counts, *store_, store_->evaluations(), c.evaluations);
  // Now, so that the first range of a drag does not wait for the trees of a long run.
  c.growTrees(*store_);
  return c.counts.finish(*store_, kWholeRun, c.durationsNs);
}

RunSummary RunningSummary::in(const TimeRange& range) {
  Counted& c = *counted_;
  c.growTrees(*store_);
  Counts counts;
  counts.steps = withoutCutSteps(*store_, range);
  DurationList durationsNs;
  const StepRows whole = wholeStepsIn(*store_, counts.steps);
  for (const events::StepRecord& step : whole.in(*store_)) {
    counts.add(*store_, step);
    addDuration(*store_, step, durationsNs);
  }
  if (durationsNs.size() == 0) {  // a range within a try
    for (const events::StepRecord& step : whole.in(*store_)) durationsNs.add(step.duration_ns());
  }
  Counted::addFrom(c.phaseTree, *store_, store_->phases(), counts);
  Counted::addFrom(c.syncTree, *store_, store_->syncPoints(), counts);
  Counted::addFrom(c.fallbackTree, *store_, store_->fallbacks(), counts);
  counts.addEvaluations(*store_, range);
  return counts.finish(*store_, range, durationsNs);
}

}  // namespace highwater::analysis
