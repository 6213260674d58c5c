#include "views/panes/search_marks.h"

#include <algorithm>
#include <cmath>

namespace highwater::views {

using analysis::FoundEvent;
using analysis::SearchHit;

EventRef eventOf(const SearchHit& hit) {
  switch (hit.event) {
    case FoundEvent::kSyncPoint:
      return {Lane::kSyncPoints, hit.index};
    case FoundEvent::kFallback:
      return {Lane::kFallbacks, hit.index};
    case FoundEvent::kMarker:
      return {Lane::kMarkers, hit.index};
    case FoundEvent::kOp:
      break;
  }
  return {Lane::kOps, hit.index};
}

std::vector<int> hitColumns(const std::vector<SearchHit>& hits, const TimeScale& scale, int left,
                            int right) {
  std::vector<int> columns;
  const auto firstAtOrAfter = [&](auto from, std::int64_t ns) {
    return std::partition_point(from, hits.end(),
                                [ns](const SearchHit& hit) { return hit.timeNs < ns; });
  };
  auto at = firstAtOrAfter(hits.begin(), scale.timeAt(left));
  while (at != hits.end()) {
    const double x = std::floor(scale.pixelAt(at->timeNs));
    if (x > right) break;
    const int column = std::max(static_cast<int>(x), left);
    if (columns.empty() || columns.back() < column) columns.push_back(column);
    // Rounding must not find the same hit again.
    const std::int64_t next = std::max(scale.timeAt(column + 1.0), at->timeNs + 1);
    at = firstAtOrAfter(at, next);
  }
  return columns;
}

}  // namespace highwater::views
