#include "analysis/device/range_timeline.h"

#include <algorithm>

namespace highwater::analysis {

RangeTimeline::RangeTimeline(const LiveStore& store, std::size_t from, std::size_t to) {
  const auto& records = store.steps().records;
  constexpr std::size_t kMargin = 8, kWiden = 4;
  for (std::size_t margin = kMargin;; margin *= kWiden) {
    first = from - std::min(from, margin);
    last = std::min(to + margin, records.size());
    host = makeHostTimeline(store, first, last);
    // What begins in the first step may be cut by a wait from before it, which is not known here.
    const bool opens =
        first == 0 || std::any_of(host.drains.begin(), host.drains.end(), [&](const Drain& each) {
          return each.beginNs >= records[first + 1].begin_ns() &&
                 each.beginNs < records[from].begin_ns();
        });
    const bool closes =
        last == records.size() ||
        (!host.drains.empty() && host.drains.back().beginNs >= records[to].begin_ns());
    if (opens && closes) return;
  }
}

}  // namespace highwater::analysis
