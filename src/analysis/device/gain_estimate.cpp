#include "analysis/device/gain_estimate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/device/idle_parts.h"
#include "analysis/device/range_timeline.h"
#include "core/units.h"

namespace highwater::analysis {

void Fix::add(const Fix& other) {
  for (const auto ranges : {&Fix::removed, &Fix::leftOut}) {
    std::vector<TimeRange> all;
    std::merge((this->*ranges).begin(), (this->*ranges).end(), (other.*ranges).begin(),
               (other.*ranges).end(), std::back_inserter(all),
               [](const TimeRange& a, const TimeRange& b) { return a.beginNs < b.beginNs; });
    this->*ranges = std::move(all);
  }
  for (std::size_t i = 0; i < kHostWorks; ++i) {
    longestNs[i] = std::min(longestNs[i], other.longestNs[i]);
  }
}

/// Blocks of steps that are read from one timeline, with what its stretches are read by. The rules
/// refer to the ends, and the walk to the timeline.
struct GainEstimator::Reading {
  Reading(const LiveStore& store, std::span<const Rows> rows, std::int64_t medianSpanNs)
      : blocks(rows),
        timeline(store, rows.front().first, rows.back().last),
        ends(store, timeline.host, timeline.first, timeline.last),
        rules(store, ends, medianSpanNs),
        walk(timeline.host) {
    const auto& records = store.steps().records;
    for (const Rows& each : blocks) {
      counted.push_back({records[each.first].begin_ns(),
                         each.last < records.size()
                             ? records[each.last].begin_ns()
                             : records.back().begin_ns() + records.back().duration_ns()});
    }
  }

  std::span<const Rows> blocks;
  std::vector<TimeRange> counted;  ///< their times
  RangeTimeline timeline;
  DeviceEnds ends;
  IdleRules rules;
  StretchWalk walk;
};

GainEstimator::GainEstimator(const LiveStore& store, std::size_t firstRow, std::size_t lastRow)
    : store_(store) {
  lastRow = std::min(lastRow, store.steps().records.size());
  using Limits = std::numeric_limits<std::int64_t>;
  if (!store.hasQueue() || firstRow >= lastRow ||
      possibleDrains(store, {Limits::min(), Limits::max()}, 2) < 2) {
    return;
  }
  const std::size_t rows = lastRow - firstRow;
  medianSpanNs_ = medianSpanNs(store);
  workStart_ = workStartOf(store);
  if (rows <= kMostSteps) {
    blocks_.push_back({firstRow, lastRow});
    return;
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::size_t first = firstRow + (rows - kMostSteps / kBlocks) * i / (kBlocks - 1);
    blocks_.push_back({first, first + kMostSteps / kBlocks});
  }
  // Where waits are rare, each block's timeline may be as long as the run.
  std::size_t timelineRows = 0;
  for (const Rows& each : blocks_) {
    timelineRows += RangeTimeline::leastRows(store, each.first, each.last);
    shareTimeline_ = timelineRows > rows;
    if (shareTimeline_) break;
  }
}

Turns<> GainEstimator::read() {
  const std::size_t together = shareTimeline_ ? blocks_.size() : 1;
  for (std::size_t next = 0; next < blocks_.size(); next += together) {
    Reading reading(store_, std::span(blocks_).subspan(next, together), medianSpanNs_);
    const auto& drains = reading.timeline.host.drains;
    if (drains.size() >= 2) {
      Part start;  // of this block: the device has nothing to do
      start.kind = Part::Kind::Drain;
      start.beginNs = drains.front().endNs;
      parts_.push_back(start);
    }
    const auto add = [&](const Stretch& stretch) { addStretch(stretch, reading); };
    co_await NextTurn{};
    while (reading.walk.forNext(StretchWalk::kSpansAPart, add)) co_await NextTurn{};
    countSteps(reading);
    co_await NextTurn{};
  }
  if (known()) replayRecorded();
}

void GainEstimator::countSteps(const Reading& reading) {
  const auto& drains = reading.timeline.host.drains;
  if (drains.size() < 2) return;
  // Before the first drain and after the last one nothing is known.
  for (std::size_t i = 0; i < reading.blocks.size(); ++i) {
    const auto& [beginNs, endNs] = reading.counted[i];
    const std::int64_t fromNs = std::clamp(drains.front().endNs, beginNs, endNs);
    const std::int64_t toNs = std::clamp(drains.back().endNs, beginNs, endNs);
    if (toNs <= fromNs) continue;
    steps_ += static_cast<double>(reading.blocks[i].last - reading.blocks[i].first) *
              static_cast<double>(toNs - fromNs) / static_cast<double>(endNs - beginNs);
  }
}

void GainEstimator::addStretch(const Stretch& stretch, Reading& reading) {
  IdleTime idle;
  reading.rules.apply(stretch, [&idle](const IdlePart& part) { idle += part.idle; });
  const double ms = toMs(std::max<std::int64_t>(stretch.closing.endNs - stretch.opening.endNs, 0));
  const auto busyNs = [ms](double idleMs) { return std::max(ms - idleMs, 0.0) * kNsPerMs; };
  const PerWork deviceNs = {busyNs(idle.high), busyNs(idle.probable), busyNs(idle.low),
                            busyNs(idle.probable)};
  const DeviceEnds& ends = reading.ends;
  const auto counts = [&reading](std::int64_t ns) {
    return std::any_of(reading.counted.begin(), reading.counted.end(), [ns](const TimeRange& each) {
      return ns >= each.beginNs && ns < each.endNs;
    });
  };
  const auto [first, last] = queueingSpans(stretch);
  double queueingNs = 0;
  for (std::size_t i = first; i < last; ++i) {
    queueingNs += static_cast<double>(stretch.work[i].ns());
  }
  // Where the device begins late, nothing of the work is done before the next commit.
  PerWork uncommittedNs{};
  std::int64_t uncommittedSinceNs = stretch.opening.endNs;
  const auto beginsLate = [this](std::size_t work) {
    return workStart_ == WorkStart::kDeferred ||
           (work == kLate && workStart_ == WorkStart::kUnknown);
  };
  std::int64_t upToNs = stretch.opening.endNs;
  const auto addWait = [&](std::int64_t toNs) {
    if (toNs <= upToNs) return;
    Part wait;
    wait.beginNs = upToNs;
    wait.ns = static_cast<double>(toNs - upToNs);
    wait.kind = Part::Kind::Wait;
    wait.counts = counts(upToNs);
    parts_.push_back(wait);
  };
  const double restartNs = std::min({kRestartNs, queueingNs / 2, deviceNs[kProbable]});
  double restartLeftNs = restartNs;
  for (std::size_t i = 0; i < stretch.work.size(); ++i) {
    const HostSpan& span = stretch.work[i];
    addWait(span.beginNs);  // only a wait that does not empty the queue leaves a gap
    upToNs = std::max(upToNs, span.endNs);
    Part part;
    part.beginNs = span.beginNs;
    part.work = span.work;
    part.counts = counts(span.beginNs);
    if (ends.commits(stretch.work.front().row, span.row, uncommittedSinceNs, span.beginNs)) {
      part.queuedNs = std::exchange(uncommittedNs, {});
      uncommittedSinceNs = span.beginNs + 1;
    }
    const auto add = [&](double ns, bool restarting) {
      part.ns = ns;
      if (i >= first && i < last && queueingNs > 0) {
        for (std::size_t work = 0; work < kWorks; ++work) {
          (beginsLate(work) ? uncommittedNs : part.queuedNs)[work] +=
              ns / queueingNs * deviceNs[work];
        }
        const double afterNs = queueingNs - restartNs;
        const double probableNs = restarting ? 0 : ns / afterNs * (deviceNs[kProbable] - restartNs);
        for (const Work work : {kProbable, kLate}) {
          if (!beginsLate(work)) part.queuedNs[work] = probableNs;
        }
      }
      parts_.push_back(part);
      part.queuedNs = {};
    };
    const auto wholeNs = static_cast<double>(span.ns());
    const double restartingNs = i >= first && i < last ? std::min(restartLeftNs, wholeNs) : 0;
    restartLeftNs -= restartingNs;
    if (restartingNs > 0) add(restartingNs, true);
    if (wholeNs > restartingNs || restartingNs <= 0) add(wholeNs - restartingNs, false);
  }
  addWait(stretch.closing.beginNs);
  Part drain;
  drain.beginNs = stretch.closing.beginNs;
  drain.ns = static_cast<double>(stretch.closing.ns());
  drain.kind = Part::Kind::Drain;
  drain.counts = counts(stretch.closing.beginNs);
  for (std::size_t work = 0; work < kWorks; ++work) {
    // Queued where it was not seen, or begun only now.
    drain.queuedNs[work] = queueingNs <= 0 ? deviceNs[work] : uncommittedNs[work];
  }
  parts_.push_back(drain);
}

void GainEstimator::State::begin(const Part& part) {
  if (part.counts == counting) return;
  // What is left over at the end has to be done as well, and what was there before does not count.
  timeNs += counting ? backlogNs : -backlogNs;
  counting = part.counts;
}

void GainEstimator::State::end() {
  if (counting) timeNs += backlogNs;
  counting = false;
}

void GainEstimator::State::work(double hostNs, double queuedNs) {
  if (counting) timeNs += hostNs;
  backlogNs = std::max(backlogNs + queuedNs - hostNs, 0.0);
}

void GainEstimator::State::drain(double beyondNs) {
  if (counting) timeNs += backlogNs + beyondNs;
  backlogNs = 0;
}

void GainEstimator::replayRecorded() {
  for (std::size_t work = 0; work < kWorks; ++work) {
    State state;
    for (Part& part : parts_) {
      state.begin(part);
      if (part.kind != Part::Kind::Drain) {
        state.work(part.ns, part.queuedNs[work]);
        continue;
      }
      state.backlogNs += part.queuedNs[work];
      part.beyondNs[work] = std::max(part.ns - state.backlogNs, 0.0);
      state.drain(part.beyondNs[work]);
    }
    state.end();
    recordedNs_[work] = state.timeNs;
  }
}

/// Tells which parts of the time line lie in the waits and fallbacks that a fix removes. The parts
/// must be asked for in order of time.
class GainEstimator::Removal {
 public:
  explicit Removal(const std::vector<TimeRange>& ranges) : ranges_(ranges) {}

  bool contains(const Part& part) {
    if (part.beginNs < atNs_) rewind();  // blocks of steps may share their margins
    atNs_ = part.beginNs;
    for (; next_ < ranges_.size() && ranges_[next_].beginNs <= part.beginNs; ++next_) {
      upToNs_ = std::max(upToNs_, ranges_[next_].endNs);
    }
    // A wait of no length can be removed as well.
    return part.beginNs < upToNs_ ||
           (part.kind == Part::Kind::Drain && part.ns <= 0 && part.beginNs == upToNs_);
  }

 private:
  void rewind() {
    next_ = 0;
    upToNs_ = std::numeric_limits<std::int64_t>::min();
  }

  const std::vector<TimeRange>& ranges_;
  std::size_t next_ = 0;
  std::int64_t atNs_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t upToNs_ = std::numeric_limits<std::int64_t>::min();
};

double GainEstimator::fixedNs(const Fix& fix, Work work, bool cautious) const {
  State state;
  Removal removal(fix.removed), omission(fix.leftOut);
  for (const Part& part : parts_) {
    state.begin(part);
    const bool removed = removal.contains(part);
    const bool leftOut = omission.contains(part);
    const double queuedNs = part.queuedNs[work];
    switch (part.kind) {
      case Part::Kind::Drain:
        if (removed) {
          state.work(cautious ? part.beyondNs[work] : 0, queuedNs);
        } else {
          state.backlogNs += queuedNs;
          state.drain(part.beyondNs[work]);
        }
        break;
      case Part::Kind::Wait:
        state.work(removed ? 0 : part.ns, queuedNs);
        break;
      case Part::Kind::Work:
        if (leftOut) {
          state.work(0, 0);  // nor what it queues
        } else if (removed && part.work == HostWork::Fallback) {
          state.work(0, queuedNs + (cautious ? part.ns : 0));
        } else {
          const auto longest =
              static_cast<double>(fix.longestNs[static_cast<std::size_t>(part.work)]);
          state.work(std::min(part.ns, longest), queuedNs);
        }
        break;
    }
  }
  state.end();
  return state.timeNs;
}

Gain GainEstimator::of(const Fix& fix) const {
  Gain all = most(fix);
  all.low *= fix.attainable;
  all.estimate *= fix.attainable;
  if (fix.leftOut.empty()) return all;
  Fix needed = fix;
  needed.leftOut.clear();
  const Gain least = most(needed);
  return {std::min(least.low, all.low), (least.estimate + all.estimate) / 2,
          std::max(least.high, all.high)};
}

Gain GainEstimator::most(const Fix& fix) const {
  if (!known()) return {};
  const auto gainMs = [&](Work work, bool cautious) {
    return std::max((recordedNs_[work] - fixedNs(fix, work, cautious)) / kNsPerMs / steps_, 0.0);
  };
  Gain gain;
  gain.estimate = gain.low = gain.high = gainMs(kProbable, false);
  for (const Work work : {kLeast, kProbable, kMost, kLate}) {
    for (const bool cautious : {false, true}) {
      const double ms = gainMs(work, cautious);
      gain.low = std::min(gain.low, ms);
      gain.high = std::max(gain.high, ms);
    }
  }
  return gain;
}

}  // namespace highwater::analysis
