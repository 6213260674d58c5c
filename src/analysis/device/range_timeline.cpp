#include "analysis/device/range_timeline.h"

#include <algorithm>

namespace highwater::analysis {

namespace {

constexpr std::size_t kMargin = 8, kWiden = 4;

/// The rows [from, to) with a margin on both sides.
struct Widened {
  std::size_t first = 0, last = 0;
  // The times in which a drain must begin that opens the first stretch.
  std::int64_t opensFromNs = 0, opensToNs = 0;
  /// False if no wait in the margins can be a drain.
  bool mayBeWhole = false;

  Widened(const LiveStore& store, std::size_t from, std::size_t to, std::size_t margin) {
    const auto& records = store.steps().records;
    first = from - std::min(from, margin);
    last = std::min(to + margin, records.size());
    // What begins in the first step may be cut by a wait from before it, which is not known here.
    opensFromNs = first == 0 ? 0 : records[first + 1].begin_ns();
    opensToNs = records[from].begin_ns();
    mayBeWhole = (first == 0 || possibleDrains(store, {opensFromNs, opensToNs}, 1) > 0) &&
                 (last == records.size() ||
                  possibleDrains(store, {records[to].begin_ns(), records[last].begin_ns()}, 1) > 0);
  }
};

}  // namespace

std::size_t RangeTimeline::leastRows(const LiveStore& store, std::size_t from, std::size_t to) {
  for (std::size_t margin = kMargin;; margin *= kWiden) {
    const Widened rows(store, from, to, margin);
    if (rows.mayBeWhole) return rows.last - rows.first;
  }
}

RangeTimeline::RangeTimeline(const LiveStore& store, std::size_t from, std::size_t to) {
  const auto& records = store.steps().records;
  for (std::size_t margin = kMargin;; margin *= kWiden) {
    const Widened rows(store, from, to, margin);
    // Asked first, because a timeline with too narrow a margin is made in vain.
    if (!rows.mayBeWhole) continue;
    first = rows.first;
    last = rows.last;
    host = makeHostTimeline(store, first, last);
    const bool opens =
        first == 0 || std::any_of(host.drains.begin(), host.drains.end(), [&](const Drain& each) {
          return each.beginNs >= rows.opensFromNs && each.beginNs < rows.opensToNs;
        });
    const bool closes =
        last == records.size() ||
        (!host.drains.empty() && host.drains.back().beginNs >= records[to].begin_ns());
    if (opens && closes) return;
  }
}

}  // namespace highwater::analysis
