#include "analysis/account/run_regions.h"

#include <algorithm>
#include <array>
#include <limits>

#include "analysis/named_phases.h"

namespace highwater::analysis {
namespace {

struct RegionWords {
  std::string_view name, key;
};
constexpr std::array<RegionWords, 6> kWords = {{{"before step 1", "before_steps"},
                                                {"steps", "steps"},
                                                {"evaluation", "evaluation"},
                                                {"named phase", "named_phase"},
                                                {"between steps", "between_steps"},
                                                {"after the last step", "after_steps"}}};

/// Appends the regions of a run from its begin to its end.
class RegionWalk {
 public:
  explicit RegionWalk(const LiveStore& store) : store_(store), lane_(store.namedLane()) {}

  void addGap(RegionKind kind, std::int64_t endNs) {
    const std::vector<Span> spans = namedUntil(endNs);
    TimeRange evaluation{endNs, endNs};
    for (const Span& span : spans) {
      if (!isEvaluation(store_, named(span))) continue;
      evaluation.beginNs = std::min(evaluation.beginNs, std::max(span.beginNs, atNs_));
      evaluation.endNs = evaluation.beginNs;
      break;
    }
    for (const Span& span : spans) {
      if (!isEvaluation(store_, named(span))) continue;
      evaluation.endNs = std::max(evaluation.endNs, std::min(span.endNs, endNs));
    }
    addNamed(spans, kind, evaluation.beginNs);
    add({RegionKind::Evaluation, {}, 0, kNoId}, evaluation.endNs);
    addNamed(spans, kind, endNs);
  }

  void addStep(std::size_t row) {
    const events::StepRecord& step = store_.steps().records[row];
    const std::int64_t endNs = std::max(step.begin_ns() + step.duration_ns(), atNs_);
    regions_.push_back({RegionKind::Step, {atNs_, endNs}, row, kNoId});
    atNs_ = endNs;
  }

  std::vector<RunRegion> take() { return std::move(regions_); }

 private:
  [[nodiscard]] const events::NamedSpan& named(const Span& span) const {
    return store_.namedSpans()[span.payload];
  }

  /// The named spans that reach into the time from atNs_ to endNs, in order of their begin.
  std::vector<Span> namedUntil(std::int64_t endNs) {
    std::vector<Span> spans;
    const auto reachesOn = [this](const Span& span) { return span.endNs > atNs_; };
    std::copy_if(open_.begin(), open_.end(), std::back_inserter(spans), reachesOn);
    for (; next_ < lane_.size() && lane_[next_].beginNs < endNs; ++next_) {
      if (reachesOn(lane_[next_])) spans.push_back(lane_[next_]);
    }
    open_.clear();
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(open_),
                 [endNs](const Span& span) { return span.endNs > endNs; });
    return spans;
  }

  void addNamed(const std::vector<Span>& spans, RegionKind kind, std::int64_t endNs) {
    for (const Span& span : spans) {
      if (isEvaluation(store_, named(span)) || span.endNs <= atNs_) continue;
      add({kind, {}, 0, kNoId}, std::min(span.beginNs, endNs));
      add({RegionKind::NamedPhase, {}, 0, named(span).name()}, std::min(span.endNs, endNs));
    }
    add({kind, {}, 0, kNoId}, endNs);
  }

  /// Appends `region` from where the one before ended; nothing if that is not before `endNs`.
  void add(RunRegion region, std::int64_t endNs) {
    if (endNs <= atNs_) return;
    region.time = {atNs_, endNs};
    regions_.push_back(region);
    atNs_ = endNs;
  }

  const LiveStore& store_;
  const SpanIndex& lane_;
  std::vector<RunRegion> regions_;
  std::vector<Span> open_;  ///< named spans that reach beyond the last gap
  std::size_t next_ = 0;    ///< the first named span that has not begun
  std::int64_t atNs_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace

std::string_view regionName(RegionKind kind) {
  return kWords[static_cast<std::size_t>(kind)].name;
}

std::string_view regionKey(RegionKind kind) {
  return kWords[static_cast<std::size_t>(kind)].key;
}

std::vector<RunRegion> regionsOf(const LiveStore& store) {
  RegionWalk walk(store);
  const auto& records = store.steps().records;
  for (std::size_t row = 0; row < records.size(); ++row) {
    walk.addGap(row == 0 ? RegionKind::BeforeSteps : RegionKind::BetweenSteps,
                records[row].begin_ns());
    walk.addStep(row);
  }
  walk.addGap(records.empty() ? RegionKind::BeforeSteps : RegionKind::AfterSteps,
              std::numeric_limits<std::int64_t>::max());
  return walk.take();
}

}  // namespace highwater::analysis
