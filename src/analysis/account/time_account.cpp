#include "analysis/account/time_account.h"

#include <algorithm>
#include <bitset>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/named_phases.h"
#include "core/names.h"

namespace highwater::analysis {
namespace {

using events::Phase;

/// A span of one line of the run, with what it says. The spans of a line never overlap.
template <typename Value>
struct Piece {
  std::int64_t beginNs = 0, endNs = 0;
  Value value{};
};

/// A line of pieces in order of time, read from the left to the right.
template <typename Value>
class Line {
 public:
  /// Adds a piece, cut so that it does not overlap those before. Pieces must come by their begin.
  void add(std::int64_t beginNs, std::int64_t endNs, const Value& value) {
    beginNs = std::max(beginNs, pieces_.empty() ? beginNs : pieces_.back().endNs);
    if (beginNs < endNs) pieces_.push_back({beginNs, endNs, value});
  }
  /// The piece at `ns`, nullptr if there is none; and lowers `untilNs` to where that changes. Times
  /// must grow from call to call.
  const Piece<Value>* at(std::int64_t ns, std::int64_t& untilNs) {
    while (next_ < pieces_.size() && pieces_[next_].endNs <= ns) ++next_;
    if (next_ == pieces_.size()) return nullptr;
    const Piece<Value>& piece = pieces_[next_];
    untilNs = std::min(untilNs, piece.beginNs > ns ? piece.beginNs : piece.endNs);
    return piece.beginNs > ns ? nullptr : &piece;
  }
  [[nodiscard]] const std::vector<Piece<Value>>& pieces() const { return pieces_; }

 private:
  std::vector<Piece<Value>> pieces_;
  std::size_t next_ = 0;
};

class NameKinds {
 public:
  explicit NameKinds(const LiveStore& store) : store_(store) {}

  NameKind of(NameId id) {
    const auto [at, isNew] = kinds_.try_emplace(id);
    if (isNew) at->second = nameKind(store_, store_.name(id));
    return at->second;
  }

 private:
  const LiveStore& store_;
  std::unordered_map<NameId, NameKind> kinds_;
};

/// A stay in a region.
struct Stay {
  Region region = Region::StartUp;
  std::size_t row = 0;
};

struct Doing {
  Activity activity = Activity::Wait;
  std::uint32_t event = 0;
  bool ofFallback = false;
};

/// The threads that train: they have phases or named spans.
class Trainers {
 public:
  explicit Trainers(const LiveStore& store) {
    for (const events::PhaseSpan& each : store.phases()) threads_.set(each.thread());
    for (const events::NamedSpan& each : store.namedSpans()) threads_.set(each.thread());
  }
  template <typename Event>
  [[nodiscard]] bool waitFor(const Event& event) const {
    return threads_.none() || threads_.test(event.thread()) || event.phase() == Phase::Backward;
  }

 private:
  std::bitset<std::numeric_limits<ThreadId>::max() + std::size_t{1}> threads_;
};

/// The lines of a range of the run, and their walk.
class Walk {
 public:
  Walk(const LiveStore& store, const TimeRange& range)
      : store_(store), names_(store), trainers_(store), range_(range) {
    addRegions();
    addPauses();
    addPhases();
    addNames();
    addDoings();
  }

  void forEach(const std::function<void(const AccountSpan&)>& f) {
    std::uint32_t visit = 0;
    std::optional<Stay> before;
    Phase last = Phase::None;
    for (std::int64_t ns = range_.beginNs; ns < range_.endNs;) {
      std::int64_t untilNs = range_.endNs;
      const auto* region = regions_.at(ns, untilNs);
      const auto* pause = pauses_.at(ns, untilNs);
      const auto* phase = phases_.at(ns, untilNs);
      const auto* name = namesLine_.at(ns, untilNs);
      const auto* doing = doings_.at(ns, untilNs);
      AccountSpan span;
      Stay stay = region ? region->value : Stay{};
      if (pause) stay.region = Region::Pause;
      if (before && (before->region != stay.region || before->row != stay.row)) {
        ++visit;
        // What a pause interrupts goes on after it.
        if (stay.region != Region::Pause && before->region != Region::Pause) last = Phase::None;
      }
      before = stay;
      span.beginNs = ns;
      span.endNs = untilNs;
      span.part.region = stay.region;
      span.part.phase = phase ? phase->value : Phase::None;
      if (phase) {
        last = phase->value;
      } else {
        span.part.after = last;
      }
      const NameKind kind = name ? names_.of(name->value) : NameKind::Own;
      if (name) span.part.name = name->value;
      if (kind == NameKind::LoaderStart) span.activity = Activity::LoaderStart;
      if (doing) {
        span.activity = doing->value.activity;
        span.event = doing->value.event;
        span.ofFallback = doing->value.ofFallback;
      }
      span.row = stay.row;
      span.visit = visit;
      f(span);
      ns = untilNs;
    }
  }

 private:
  /// A range that touches what touches the range of the walk, also what is cut by its begin.
  [[nodiscard]] std::pair<std::size_t, std::size_t> touching(const SpanIndex& lane,
                                                             const TimeRange& range) const {
    return lane.touching(range.beginNs, range.endNs);
  }

  void addRegions() {
    const SpanIndex& steps = store_.steps().lane;
    constexpr auto kEnd = std::numeric_limits<std::int64_t>::max();
    constexpr auto kBegin = std::numeric_limits<std::int64_t>::min();
    const auto [first, last] = touching(steps, range_);
    if (first >= last) {  // within a gap between two steps, or a run without any
      const std::size_t next = steps.firstFrom(range_.beginNs);
      addGap(next > 0 ? steps[next - 1].endNs : kBegin,
             next < steps.size() ? steps[next].beginNs : kEnd, next);
      return;
    }
    addGap(first > 0 ? steps[first - 1].endNs : kBegin, steps[first].beginNs, first);
    for (std::size_t i = first; i < last; ++i) {
      const Span step = steps[i];
      const std::int64_t nextNs = i + 1 < steps.size() ? steps[i + 1].beginNs : kEnd;
      const std::int64_t endNs = std::min(step.endNs, nextNs);
      regions_.add(step.beginNs, endNs, {Region::Step, step.payload});
      addGap(endNs, nextNs, i + 1);
    }
  }

  /// The time between two steps, the later of which is at `next`.
  void addGap(std::int64_t beginNs, std::int64_t endNs, std::size_t next) {
    if (beginNs >= endNs) return;
    const SpanIndex& steps = store_.steps().lane;
    const std::size_t row = next > 0 ? steps[next - 1].payload : 0;
    const Region rest = next == 0              ? Region::StartUp
                        : next == steps.size() ? Region::AfterSteps
                                               : Region::BetweenSteps;
    const TimeRange evaluation = evaluationIn(beginNs, endNs);
    fillGap(beginNs, std::min(evaluation.beginNs, endNs), {rest, row});
    if (evaluation.beginNs >= endNs) return;
    regions_.add(evaluation.beginNs, evaluation.endNs, {Region::Evaluation, row});
    fillGap(evaluation.endNs, endNs, {rest, row});
  }

  /// Adds a gap with the named spans in it, which are regions of their own.
  void fillGap(std::int64_t beginNs, std::int64_t endNs, const Stay& rest) {
    const SpanIndex& lane = store_.namedLane();
    std::int64_t atNs = beginNs;
    // Named spans do not overlap, so that one at most reaches into the gap. A hostile recording may
    // claim otherwise, and must not cost more.
    const std::size_t begun = lane.firstFrom(std::max(beginNs, range_.beginNs));
    const std::size_t last = lane.firstFrom(std::min(endNs, range_.endNs));
    for (std::size_t i = begun > 0 ? begun - 1 : 0; i < last; ++i) {
      const NameKind kind = names_.of(store_.namedSpans()[lane[i].payload].name());
      if (kind != NameKind::Own && kind != NameKind::Highwater) continue;
      const std::int64_t fromNs = std::max(lane[i].beginNs, atNs);
      const std::int64_t toNs = std::min(lane[i].endNs, endNs);
      if (fromNs >= toNs) continue;
      regions_.add(atNs, fromNs, rest);
      regions_.add(fromNs, toNs,
                   {kind == NameKind::Own ? Region::NamedPhase : Region::Highwater, rest.row});
      atNs = toNs;
    }
    regions_.add(atNs, endNs, rest);
  }

  /// The end of the wait that follows an evaluation: its results are read, as after model.train().
  /// `fromNs` where nothing waits before `endNs`, or before a phase of the script.
  [[nodiscard]] std::int64_t readOfResults(std::int64_t fromNs, std::int64_t endNs) const {
    const SpanIndex& waits = store_.syncLane();
    const std::size_t last = waits.firstFrom(endNs);
    std::size_t wait = waits.firstFrom(fromNs);
    while (wait < last && !trainers_.waitFor(store_.syncPoints()[waits[wait].payload])) ++wait;
    if (wait >= last) return fromNs;
    const SpanIndex& named = store_.namedLane();
    const std::size_t next = named.firstFrom(fromNs);
    const bool isOwn = next < named.size() && named[next].beginNs < waits[wait].beginNs;
    return isOwn ? fromNs : std::max(fromNs, waits[wait].endNs);
  }

  /// The evaluation in a gap between two steps: from its first batch to the read of its results.
  /// Empty if there is none, and then it begins at the end of the gap.
  [[nodiscard]] TimeRange evaluationIn(std::int64_t beginNs, std::int64_t endNs) {
    TimeRange found{endNs, endNs};
    const SpanIndex& lane = store_.namedLane();
    const std::size_t last = lane.firstFrom(endNs);
    for (std::size_t i = lane.firstFrom(beginNs); i < last; ++i) {
      if (names_.of(store_.namedSpans()[lane[i].payload].name()) != NameKind::Evaluation) continue;
      found.beginNs = std::min(found.beginNs, lane[i].beginNs);
      found.endNs =
          found.beginNs == lane[i].beginNs ? lane[i].endNs : std::max(found.endNs, lane[i].endNs);
    }
    if (found.beginNs == endNs) return found;
    found.endNs = std::min(readOfResults(found.endNs, endNs), endNs);
    // Its batches are fetched before the model is called. A batch of the training is a step's.
    const SpanIndex& phases = store_.phaseLane();
    for (std::size_t i = phases.firstFrom(beginNs);
         i < phases.size() && phases[i].beginNs < found.beginNs; ++i) {
      if (store_.phases()[phases[i].payload].phase() != Phase::BatchAssembly) continue;
      found.beginNs = std::max(phases[i].beginNs, beginNs);
      break;
    }
    return found;
  }

  void addPauses() {
    std::optional<std::int64_t> sinceNs;
    for (const events::Marker& each : store_.markers()) {
      if (each.kind() == events::MarkerKind::Paused && !sinceNs) sinceNs = each.time_ns();
      if (each.kind() != events::MarkerKind::Resumed || !sinceNs) continue;
      pauses_.add(*sinceNs, each.time_ns(), true);
      sinceNs.reset();
    }
    if (sinceNs) pauses_.add(*sinceNs, std::numeric_limits<std::int64_t>::max(), true);
  }

  void addPhases() {
    const SpanIndex& lane = store_.phaseLane();
    const auto [first, last] = touching(lane, range_);
    for (std::size_t i = first; i < last; ++i) {
      phases_.add(lane[i].beginNs, lane[i].endNs, store_.phases()[lane[i].payload].phase());
    }
  }

  void addNames() {
    const SpanIndex& lane = store_.namedLane();
    const auto [first, last] = touching(lane, range_);
    for (std::size_t i = first; i < last; ++i) {
      namesLine_.add(lane[i].beginNs, lane[i].endNs, store_.namedSpans()[lane[i].payload].name());
    }
  }

  /// Waits and fallbacks. A fallback first waits for the device, then computes; the waits within it
  /// are its own.
  void addDoings() {
    std::vector<Piece<Doing>> all;
    const SpanIndex& fallbacks = store_.fallbackLane();
    const auto [firstFallback, lastFallback] = touching(fallbacks, range_);
    for (std::size_t i = firstFallback; i < lastFallback; ++i) {
      const Span span = fallbacks[i];
      const events::FallbackEvent& event = store_.fallbacks()[span.payload];
      if (!trainers_.waitFor(event)) continue;
      const std::int64_t waitNs = std::max<std::int64_t>(event.wait_ns(), 0);
      const std::int64_t computeNs = std::min(span.beginNs + waitNs, span.endNs);
      all.push_back({span.beginNs, computeNs, {Activity::Wait, span.payload, true}});
      all.push_back({computeNs, span.endNs, {Activity::Fallback, span.payload, true}});
    }
    const SpanIndex& waits = store_.syncLane();
    const auto [firstWait, lastWait] = touching(waits, range_);
    for (std::size_t i = firstWait; i < lastWait; ++i) {
      const Span span = waits[i];
      if (!trainers_.waitFor(store_.syncPoints()[span.payload])) continue;
      all.push_back({span.beginNs, span.endNs, {Activity::Wait, span.payload, false}});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.beginNs < b.beginNs; });
    for (const Piece<Doing>& each : all) doings_.add(each.beginNs, each.endNs, each.value);
  }

  const LiveStore& store_;
  NameKinds names_;
  Trainers trainers_;
  TimeRange range_;
  Line<Stay> regions_;
  Line<bool> pauses_;
  Line<Phase> phases_;
  Line<NameId> namesLine_;
  Line<Doing> doings_;
};

struct RegionWords {
  std::string_view name, key;
};
constexpr std::array<RegionWords, kRegions> kRegionWords = {
    {{"start-up", "start_up"},
     {"steps", "steps"},
     {"evaluations", "evaluations"},
     {"phases of the script", "own_phases"},
     {"Highwater's own work", "highwater"},
     {"pauses", "pauses"},
     {"between steps", "between_steps"},
     {"after the last step", "after_steps"}}};
constexpr std::array<std::string_view, kActivities> kActivityKeys = {"work", "wait", "fallback",
                                                                     "loader_start"};

}  // namespace

std::string_view regionName(Region region) {
  return kRegionWords[static_cast<std::size_t>(region)].name;
}

std::string_view regionKey(Region region) {
  return kRegionWords[static_cast<std::size_t>(region)].key;
}

std::string_view activityKey(Activity activity) {
  return kActivityKeys[static_cast<std::size_t>(activity)];
}

void walkAccount(const LiveStore& store, const TimeRange& range,
                 const std::function<void(const AccountSpan&)>& f) {
  if (range.beginNs < range.endNs) Walk(store, range).forEach(f);
}

TimeRange wholeRun(const LiveStore& store) {
  TimeRange run{0, store.completeUpToNs()};
  for (const SpanIndex* lane : {&store.steps().lane, &store.phaseLane(), &store.namedLane(),
                                &store.syncLane(), &store.fallbackLane()}) {
    if (lane->empty()) continue;
    run.beginNs = std::min(run.beginNs, (*lane)[0].beginNs);
    run.endNs = std::max(run.endNs, (*lane)[lane->size() - 1].endNs);
  }
  return run;
}

TimeAccount accountTime(const LiveStore& store, std::optional<TimeRange> range) {
  TimeAccount account;
  account.range = range ? *range : wholeRun(store);
  using Key = std::tuple<Part, Activity, events::SyncKind, bool, NameId, ModuleId, CallSiteId>;
  std::map<Key, AccountRow> rows;
  std::optional<std::uint32_t> visit;
  // A pause cuts a region, and one wait may lie in two parts: it counts where it begins.
  walkAccount(store, account.range, [&](const AccountSpan& span) {
    if (visit != span.visit) ++account.visits[static_cast<std::size_t>(span.part.region)];
    visit = span.visit;
    AccountRow row{span.part, span.activity};
    std::int64_t beganNs = 0;
    const auto describe = [&](const auto& event) {
      row.op = event.op();
      row.module = event.module_id();
      row.site = event.call_site();
      beganNs = event.begin_ns();
    };
    if (span.activity == Activity::Fallback || span.ofFallback) {
      describe(store.fallbacks()[span.event]);
      row.kind =
          span.activity == Activity::Wait ? events::SyncKind::Fallback : events::SyncKind::None;
    } else if (span.activity == Activity::Wait) {
      const events::SyncPoint& wait = store.syncPoints()[span.event];
      describe(wait);
      row.kind = wait.kind();
      row.planned = wait.deliberate() != 0;
    }
    const bool isEvent = span.activity == Activity::Wait || span.activity == Activity::Fallback;
    AccountRow& sum =
        rows.try_emplace(
                {row.part, row.activity, row.kind, row.planned, row.op, row.module, row.site}, row)
            .first->second;
    sum.ns += span.ns();
    const bool begins =
        beganNs == span.beginNs ||
        (span.activity == Activity::Fallback && store.fallbacks()[span.event].wait_ns() > 0 &&
         beganNs + store.fallbacks()[span.event].wait_ns() == span.beginNs);
    sum.count += isEvent && begins ? 1 : 0;
  });
  account.rows.reserve(rows.size());
  for (auto& [key, row] : rows) account.rows.push_back(row);
  std::stable_sort(account.rows.begin(), account.rows.end(),
                   [](const AccountRow& a, const AccountRow& b) { return a.ns > b.ns; });
  return account;
}

std::string partText(const LiveStore& store, const Part& part) {
  if (part.name != kNoId) {
    const std::string name = store.name(part.name);
    if (part.region != Region::Evaluation || name != kEvaluationSpan) return name;
    // A script's evaluation goes on from its first call until the training does.
    return store.ownScript() ? "the model and what is made of its results" : "calls of the model";
  }
  if (part.phase != Phase::None) return std::string(phaseName(part.phase));
  if (part.region != Region::Step && part.region != Region::Evaluation) {
    return std::string(regionName(part.region));
  }
  if (part.region == Region::Evaluation) return "between calls of the model";
  return part.after == Phase::None ? "before any phase"
                                   : "after " + std::string(phaseName(part.after));
}

}  // namespace highwater::analysis
