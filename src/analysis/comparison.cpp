#include "analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <span>
#include <tuple>

#include "analysis/statistics.h"
#include "analysis/whole_steps.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr std::size_t kResamples = 400;
constexpr std::size_t kMostResampled = 3000;
constexpr double kInterval = 0.95;

double percentileOrZero(std::vector<double> values, std::size_t percent) {
  return values.empty() ? 0 : percentileOf(values, percent);
}

double sumOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double meanOf(const std::vector<double>& values) {
  return values.empty() ? 0 : sumOf(values) / static_cast<double>(values.size());
}

/// The resamples of one range: for each the first steps of its blocks.
class Resamples {
 public:
  Resamples(std::size_t steps, std::uint32_t seed)
      : steps_(steps),
        size_(std::min(steps, kMostResampled)),
        block_(std::clamp<std::size_t>(
            static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(steps)))), 1,
            std::max<std::size_t>(steps, 1))) {
    if (steps == 0) return;
    // A fixed generator and no distribution of the library, whose numbers differ between systems.
    std::minstd_rand random(seed);
    const std::size_t starts = steps_ - block_ + 1, blocks = (size_ + block_ - 1) / block_;
    starts_.reserve(kResamples * blocks);
    for (std::size_t i = 0; i < kResamples * blocks; ++i) starts_.push_back(random() % starts);
    blocks_ = blocks;
  }

  [[nodiscard]] std::size_t steps() const { return steps_; }
  /// What a deviation of a resample must be multiplied by to be one of the whole range.
  [[nodiscard]] double scale() const {
    return std::sqrt(static_cast<double>(size_) / static_cast<double>(steps_));
  }

  /// Calls f(first, count) for the blocks of a resample.
  template <typename F>
  void eachBlock(std::size_t resample, F&& f) const {
    std::size_t left = size_;
    for (std::size_t i = 0; i < blocks_; ++i) {
      const std::size_t count = std::min(block_, left);
      f(starts_[resample * blocks_ + i], count);
      left -= count;
    }
  }

  [[nodiscard]] double percentile(std::size_t resample, const std::vector<double>& values,
                                  std::size_t percent) const {
    std::vector<double> drawn;
    drawn.reserve(size_);
    eachBlock(resample, [&](std::size_t first, std::size_t count) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      drawn.insert(drawn.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    });
    return percentileOf(drawn, percent);
  }

  /// The sum of a resample; `sums` are those of the values before each step.
  [[nodiscard]] double sum(std::size_t resample, const std::vector<double>& sums) const {
    double sum = 0;
    eachBlock(resample, [&](std::size_t first, std::size_t count) {
      sum += sums[first + count] - sums[first];
    });
    return sum;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t steps_, size_, block_, blocks_ = 0;
  std::vector<std::size_t> starts_;
};

std::vector<double> sumsBefore(const std::vector<double>& values) {
  std::vector<double> sums(values.size() + 1, 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + values[i];
  return sums;
}

/// Half the width of the interval of the differences of two series of resampled statistics.
double noiseOf(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) differences[i] = b[i] - a[i];
  std::sort(differences.begin(), differences.end());
  const auto cut = static_cast<std::size_t>(std::lround(kResamples * (1 - kInterval) / 2));
  return (differences[kResamples - 1 - cut] - differences[cut]) / 2;
}

struct StepValues;

/// Both ranges' resamples.
struct Both {
  Resamples a, b;

  [[nodiscard]] bool enough() const {
    return a.steps() >= kLeastComparedSteps && b.steps() >= kLeastComparedSteps;
  }

  /// `of(resamples, values, i)` is the statistic of resample i.
  template <typename Values, typename Of>
  double noise(const Values& ofA, const Values& ofB, double valueA, double valueB, Of&& of) const {
    if (!enough()) return std::numeric_limits<double>::quiet_NaN();
    std::vector<double> left(kResamples), right(kResamples);
    for (std::size_t i = 0; i < kResamples; ++i) {
      left[i] = valueA + (of(a, ofA, i) - valueA) * a.scale();
      right[i] = valueB + (of(b, ofB, i) - valueB) * b.scale();
    }
    return noiseOf(left, right);
  }

  [[nodiscard]] ComparedValue mean(const std::vector<double>& ofA,
                                   const std::vector<double>& ofB) const {
    ComparedValue value;
    value.a = meanOf(ofA);
    value.b = meanOf(ofB);
    value.noise =
        noise(sumsBefore(ofA), sumsBefore(ofB), value.a, value.b,
              [](const Resamples& resamples, const std::vector<double>& sums, std::size_t i) {
                return resamples.sum(i, sums) / static_cast<double>(resamples.size());
              });
    return value;
  }

  [[nodiscard]] ComparedValue percentile(const std::vector<double>& ofA,
                                         const std::vector<double>& ofB,
                                         std::size_t percent) const {
    ComparedValue value{percentileOrZero(ofA, percent), percentileOrZero(ofB, percent)};
    value.noise =
        noise(ofA, ofB, value.a, value.b,
              [percent](const Resamples& resamples, const std::vector<double>& values,
                        std::size_t i) { return resamples.percentile(i, values, percent); });
    return value;
  }

  /// The noise of a fact that is a statistic of steps, or a ratio of their sums.
  [[nodiscard]] double noiseOfFact(const Fact& fact, const StepValues& ofA, const StepValues& ofB,
                                   const ComparedValue& value) const;
};

Both bothOf(std::size_t stepsA, std::size_t stepsB) {
  return {Resamples(stepsA, 1), Resamples(stepsB, 2)};
}

/// What identifies a row: op, kind, place.
using ComparedOpKey = std::tuple<std::string, events::SyncKind, std::string>;

/// The values of one row's waits, in ms, step by step.
struct OpSteps {
  std::vector<double> ms;
  std::string where;
  bool planned = true;
};

/// By how much the mean tokens of steps may differ, as a share, that count as of one size.
constexpr double kSameTokens = 0.01;

/// The smallest and the largest batch size and sequence length of some steps.
struct StepSizes {
  std::uint32_t leastBatch = 0, mostBatch = 0, leastLength = 0, mostLength = 0;
  bool any = false;

  void add(const events::StepRecord& step) {
    const std::uint32_t batch = step.batch_size(), length = step.sequence_length();
    leastBatch = any ? std::min(leastBatch, batch) : batch;
    leastLength = any ? std::min(leastLength, length) : length;
    mostBatch = std::max(mostBatch, batch);
    mostLength = std::max(mostLength, length);
    any = true;
  }

  [[nodiscard]] std::string text() const {
    const auto range = [](std::uint32_t least, std::uint32_t most) {
      const std::string end = std::to_string(most);
      return least == most ? end : std::to_string(least) + "\u2013" + end;
    };
    if (mostBatch == 0) return {};
    const std::string batch = range(leastBatch, mostBatch);
    return mostLength <= 1 ? batch : batch + " \u00d7 " + range(leastLength, mostLength);
  }
};

/// The numbers of the whole steps of a range, step by step.
struct StepValues {
  std::span<const events::StepRecord> records;
  std::vector<StepNumbers> steps;  ///< one for each record
  std::map<ComparedOpKey, OpSteps> ops;
  StepSizes sizes;

  /// `byText`: a place is known by the text of its line and the function, as an edit elsewhere
  /// moves the line.
  StepValues(const LiveStore& store, const TimeRange& given, const RunSummary& summary,
             bool byText = false)
      : byText_(byText) {
    records = wholeStepsIn(store, given).in(store);
    if (records.empty()) return;
    steps.resize(records.size());
    const bool leavesOutFirst = summary.rateLeavesOutFirst;
    const double drainedMs =
        summary.drainedMs / static_cast<double>(records.size() - (leavesOutFirst ? 1 : 0));
    for (std::size_t row = 0; row < records.size(); ++row) {
      const events::StepRecord& record = records[row];
      sizes.add(record);
      steps[row].ms = toMs(record.duration_ns());
      steps[row].tokens = static_cast<double>(record.tokens());
      if (leavesOutFirst && row == 0) continue;
      steps[row].ratedMs = steps[row].ms + drainedMs;
      steps[row].ratedTokens = steps[row].tokens;
    }
    addEvents(store);
    for (StepNumbers& step : steps) {
      step.outsideMs = step.ms;
      for (const double phase : step.phaseMs) step.outsideMs -= phase;
    }
  }

  /// What `of` takes of each step.
  template <typename Of>
  [[nodiscard]] std::vector<double> series(Of&& of) const {
    std::vector<double> values;
    values.reserve(steps.size());
    for (const StepNumbers& step : steps) values.push_back(of(step));
    return values;
  }

 private:
  void addEvents(const LiveStore& store) {
    const TimeRange range = firstToLast(records);
    eachIn(store.phaseLane(), range, [&](const Span& span, std::size_t row, double ms) {
      const auto phase = static_cast<std::size_t>(store.phases()[span.payload].phase());
      if (phase < steps[row].phaseMs.size()) steps[row].phaseMs[phase] += ms;
    });
    Ids ids;
    eachIn(store.syncLane(), range, [&](const Span& span, std::size_t row, double ms) {
      const events::SyncPoint& sync = store.syncPoints()[span.payload];
      if (sync.kind() == events::SyncKind::Fallback) return;  // the fallback's own wait
      (isUnplanned(sync) ? steps[row].unplannedMs : steps[row].plannedMs) += ms;
      OpSteps& op = rowOf(store, ids, sync, sync.kind());
      op.ms[row] += ms;
      op.planned = op.planned && !isUnplanned(sync);
    });
    eachIn(store.fallbackLane(), range, [&](const Span& span, std::size_t row, double ms) {
      const events::FallbackEvent& fallback = store.fallbacks()[span.payload];
      steps[row].fallbackMs += ms;
      OpSteps& op = rowOf(store, ids, fallback, events::SyncKind::None);
      op.ms[row] += ms;
      op.planned = false;
    });
  }

  /// Calls f(span, row, ms) for each span that begins in one of the steps.
  template <typename F>
  void eachIn(const SpanIndex& lane, const TimeRange& range, F&& f) const {
    std::size_t row = 0;
    const std::size_t last = lane.firstFrom(range.endNs);
    for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
      const Span& span = lane[i];
      const auto endOf = [this](std::size_t step) {
        return records[step].begin_ns() + records[step].duration_ns();
      };
      while (row < records.size() && endOf(row) <= span.beginNs) ++row;
      if (row == records.size()) return;
      if (span.beginNs < records[row].begin_ns()) continue;
      f(span, row, toMs(std::min(span.endNs, endOf(row)) - span.beginNs));
    }
  }

  using Ids =
      std::map<std::tuple<NameId, events::SyncKind, events::Phase, ModuleId, CallSiteId>, OpSteps*>;
  template <typename Event>
  OpSteps& rowOf(const LiveStore& store, Ids& ids, const Event& event, events::SyncKind kind) {
    OpSteps*& known = ids[{event.op(), kind, event.phase(), event.module_id(), event.call_site()}];
    if (!known) {
      const std::string where =
          store.placeText(event.phase(), event.module_id(), event.call_site());
      known = &ops[{store.name(event.op()), kind, placeKey(store, event, where)}];
      if (known->ms.empty()) known->where = where;
      known->ms.resize(records.size());
    }
    return *known;
  }

  template <typename Event>
  [[nodiscard]] std::string placeKey(const LiveStore& store, const Event& event,
                                     const std::string& where) const {
    if (!byText_) return where;
    const CallSiteParts site = store.callSiteParts(event.call_site());
    if (site.text.empty()) return where;
    return site.function + '\n' + site.text + '\n' + std::string(phaseName(event.phase()));
  }

  bool byText_;
};

/// The sum of one series divided by that of another.
struct Ratio {
  std::vector<double> above, below;  ///< sums before each step
};

double Both::noiseOfFact(const Fact& fact, const StepValues& ofA, const StepValues& ofB,
                         const ComparedValue& value) const {
  const auto above = [&](const StepValues& side) { return side.series(fact.ofStep); };
  if (fact.perStep) {
    const auto ratio = [&](const StepValues& side) {
      return Ratio{sumsBefore(above(side)), sumsBefore(side.series(fact.perStep))};
    };
    return noise(ratio(ofA), ratio(ofB), value.a, value.b,
                 [](const Resamples& resamples, const Ratio& sums, std::size_t i) {
                   const double below = resamples.sum(i, sums.below);
                   return below > 0 ? resamples.sum(i, sums.above) / below : 0;
                 });
  }
  if (fact.statistic == Statistic::kMean) return mean(above(ofA), above(ofB)).noise;
  return percentile(above(ofA), above(ofB), fact.statistic == Statistic::kP95 ? 95 : 50).noise;
}

StepHistogram histogramOf(const std::vector<double>& durationMs, double lowMs, double highMs) {
  StepHistogram histogram{lowMs, highMs, {}};
  const double width = (highMs - lowMs) / StepHistogram::kBins;
  for (const double ms : durationMs) {
    const auto bin = width > 0 ? static_cast<std::size_t>((ms - lowMs) / width) : 0;
    ++histogram.counts[std::min(bin, StepHistogram::kBins - 1)];
  }
  return histogram;
}

std::vector<ComparedOp> comparedOps(const StepValues& a, const StepValues& b, const Both& both) {
  std::set<ComparedOpKey> keys;
  for (const StepValues* range : {&a, &b}) {
    for (const auto& [key, op] : range->ops) keys.insert(key);
  }
  const OpSteps noneA{std::vector<double>(a.records.size()), {}, true};
  const OpSteps noneB{std::vector<double>(b.records.size()), {}, true};
  std::vector<ComparedOp> ops;
  for (const ComparedOpKey& key : keys) {
    const auto inA = a.ops.find(key), inB = b.ops.find(key);
    const OpSteps& left = inA == a.ops.end() ? noneA : inA->second;
    const OpSteps& right = inB == b.ops.end() ? noneB : inB->second;
    const auto& [op, kind, place] = key;
    const bool isMoved = !left.where.empty() && !right.where.empty() && left.where != right.where;
    ops.push_back({op, left.where.empty() ? right.where : left.where,
                   isMoved ? right.where : std::string(), kind, left.planned && right.planned,
                   both.mean(left.ms, right.ms)});
  }
  std::stable_sort(ops.begin(), ops.end(), [](const ComparedOp& x, const ComparedOp& y) {
    return std::abs(x.ms.change()) > std::abs(y.ms.change());
  });
  return ops;
}

std::vector<ComparedFact> comparedFacts(const LiveStore& storeA, const LiveStore& storeB,
                                        const Comparison& compared, const StepValues& a,
                                        const StepValues& b, const Both& both) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<ComparedFact> all;
  for (const Fact& fact : facts()) {
    const auto inA = fact.value(storeA, compared.a), inB = fact.value(storeB, compared.b);
    if (!inA && !inB) continue;
    ComparedFact each{&fact, {inA.value_or(kUnknown), inB.value_or(kUnknown)}};
    if (fact.ofStep && inA && inB) each.value.noise = both.noiseOfFact(fact, a, b, each.value);
    all.push_back(each);
  }
  return all;
}

/// `compared` has the summaries; this adds the rest.
void compareSteps(const LiveStore& storeA, const StepValues& a, const LiveStore& storeB,
                  const StepValues& b, Comparison& compared) {
  const Both both = bothOf(a.records.size(), b.records.size());
  const auto durations = [](const StepValues& side) {
    return side.series([](const StepNumbers& step) { return step.ms; });
  };
  const std::vector<double> ofA = durations(a), ofB = durations(b);
  const auto [lowA, highA] = std::minmax_element(ofA.begin(), ofA.end());
  const auto [lowB, highB] = std::minmax_element(ofB.begin(), ofB.end());
  const double low = std::min(*lowA, *lowB), high = std::max(*highA, *highB);
  compared.histogramA = histogramOf(ofA, low, high);
  compared.histogramB = histogramOf(ofB, low, high);
  compared.facts = comparedFacts(storeA, storeB, compared, a, b, both);
  compared.sizesA = a.sizes.text();
  compared.sizesB = b.sizes.text();
  const auto tokens = [](const StepValues& side) {
    return meanOf(side.series([](const StepNumbers& step) { return step.tokens; }));
  };
  compared.tokensA = tokens(a);
  compared.tokensB = tokens(b);
  compared.sameTokens = std::abs(compared.tokensA - compared.tokensB) <=
                        kSameTokens * std::max(compared.tokensA, compared.tokensB);
  compared.ops = comparedOps(a, b, both);
}

}  // namespace

bool ComparedValue::beyondNoise() const {
  return !std::isnan(noise) && std::abs(change()) > noise;
}

bool ComparedFact::differs() const {
  if (std::isnan(value.change())) return false;
  return fact->ofStep ? value.beyondNoise() : value.change() != 0;
}

const ComparedFact* Comparison::find(std::string_view key) const {
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [&](const ComparedFact& each) { return each.fact->key == key; });
  return found == facts.end() ? nullptr : &*found;
}

ComparedValue Comparison::of(std::string_view key) const {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const ComparedFact* found = find(key);
  return found ? found->value : ComparedValue{kUnknown, kUnknown, kUnknown};
}

const ComparedFact* Comparison::rate() const {
  const auto found = std::find_if(facts.begin(), facts.end(), [](const ComparedFact& each) {
    return each.fact->quantity == Quantity::kPerSecond && each.value.a > 0 && each.value.b > 0;
  });
  return found == facts.end() ? nullptr : &*found;
}

const ComparedFact* Comparison::time() const {
  return find(a.meanTells() || b.meanTells() ? "step_ms.mean" : "step_ms.p50");
}

const ComparedFact* Comparison::headline() const {
  if (std::min(a.steps, b.steps) < kLeastComparedSteps) return nullptr;
  // A step that has more to do may well take longer.
  return sameTokens ? time() : rate();
}

ComparedValue compareSeries(const std::vector<double>& a, const std::vector<double>& b,
                            Statistic statistic) {
  const Both both = bothOf(a.size(), b.size());
  switch (statistic) {
    case Statistic::kMedian:
      return both.percentile(a, b, 50);
    case Statistic::kP95:
      return both.percentile(a, b, 95);
    case Statistic::kMean:
      break;
  }
  return both.mean(a, b);
}

namespace {

/// A range of a run with its summary.
struct Side {
  const LiveStore& store;
  TimeRange range;
  RunSummary summary;
};

std::optional<Comparison> compareSides(const Side& sideA, const Side& sideB, bool byText) {
  const StepValues a(sideA.store, sideA.range, sideA.summary, byText);
  const StepValues b(sideB.store, sideB.range, sideB.summary, byText);
  if (a.records.empty() || b.records.empty()) return std::nullopt;
  Comparison compared;
  compared.a = sideA.summary;
  compared.b = sideB.summary;
  compareSteps(sideA.store, a, sideB.store, b, compared);
  return compared;
}

}  // namespace

std::optional<Comparison> compareRanges(const LiveStore& store, const TimeRange& a,
                                        const TimeRange& b) {
  return compareSides({store, a, summarize(store, a)}, {store, b, summarize(store, b)}, false);
}

std::optional<Comparison> compareRuns(const LiveStore& a, const LiveStore& b) {
  constexpr TimeRange kAll{std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max()};
  return compareSides({a, kAll, summarize(a)}, {b, kAll, summarize(b)}, true);
}

std::string comparisonText(const Comparison& compared) {
  if (std::min(compared.a.steps, compared.b.steps) < kLeastComparedSteps) {
    return "Too few steps to tell a change from noise: each side needs " +
           std::to_string(kLeastComparedSteps);
  }
  const ComparedFact* told = compared.headline();
  if (!told) return "The steps have different sizes, and no throughput is known of both";
  const ComparedValue& value = told->value;
  const bool isMore = value.change() > 0;
  const std::string share =
      factText(Quantity::kShare, value.a > 0 ? std::abs(value.change()) / value.a : 0);
  if (told->fact->quantity == Quantity::kPerSecond) {
    const std::string unit = told->fact->key == "tokens_per_s" ? "tokens/s" : "samples/s";
    const std::string noise = "\u00b1 " + factText(Quantity::kShare, value.noise / value.a);
    if (!told->differs()) return "No difference in " + unit + " beyond the noise, " + noise;
    return share + (isMore ? " more " : " fewer ") + unit + ", beyond the noise, " + noise;
  }
  const std::string step =
      told->fact->key == "step_ms.mean" ? "The mean step " : "The median step ";
  const std::string noise = "\u00b1 " + factText(told->fact->quantity, value.noise);
  if (!told->differs()) return step + "does not differ beyond the noise, " + noise;
  return step + "takes " + share + (isMore ? " more" : " less") + " time, beyond the noise, " +
         noise;
}

}  // namespace highwater::analysis
