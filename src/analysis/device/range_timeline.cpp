#include "analysis/device/range_timeline.h"

#include <algorithm>

namespace highwater::analysis {

RangeTimeline::RangeTimeline(const LiveStore& store, std::size_t from, std::size_t to) {
  const auto& records = store.steps().records;
  constexpr std::size_t kMargin = 8, kWiden = 4;
  for (std::size_t margin = kMargin;; margin *= kWiden) {
    first = from - std::min(from, margin);
    last = std::min(to + margin, records.size());
    // What begins in the first step may be cut by a wait from before it, which is not known here.
    const std::int64_t opensFromNs = first == 0 ? 0 : records[first + 1].begin_ns();
    const std::int64_t opensToNs = records[from].begin_ns();
    // Asked first, because a timeline with too narrow a margin is made in vain.
    if (first > 0 && possibleDrains(store, {opensFromNs, opensToNs}, 1) == 0) continue;
    if (last < records.size() &&
        possibleDrains(store, {records[to].begin_ns(), records[last].begin_ns()}, 1) == 0) {
      continue;
    }
    host = makeHostTimeline(store, first, last);
    const bool opens =
        first == 0 || std::any_of(host.drains.begin(), host.drains.end(), [&](const Drain& each) {
          return each.beginNs >= opensFromNs && each.beginNs < opensToNs;
        });
    const bool closes =
        last == records.size() ||
        (!host.drains.empty() && host.drains.back().beginNs >= records[to].begin_ns());
    if (opens && closes) return;
  }
}

}  // namespace highwater::analysis
