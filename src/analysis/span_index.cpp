#include "analysis/span_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <numeric>
#include "analysis/growing.h"

namespace highwater::analysis {
namespace {

/// Fewer late spans than this are merged by the next query only.
constexpr std::size_t kFewLate = 1024;

std::int64_t length(const Span& span) {
  return span.endNs - span.beginNs;
}

/// The time at which pixel column `column` begins.
std::int64_t columnBegin(std::int64_t originNs, double nsPerPixel, double column) {
  const double offset = std::ceil(column * nsPerPixel);
  constexpr double kLimit = 4e18;
  return originNs + static_cast<std::int64_t>(std::clamp(offset, -kLimit, kLimit));
}

}  // namespace

void SpanIndex::append(const Span& given) {
  Span span = given;
  span.endNs = std::max(span.endNs, span.beginNs);
  if (spans_.empty() || span.beginNs >= spans_.back().beginNs) {
    reserveOneMore(spans_);
    spans_.push_back(span);
    recomputeFrom(spans_.size() - 1);
    return;
  }
  // The hint makes descending order cheap. Spans with equal begins keep their order.
  const bool first = late_.empty() || span.beginNs < late_.begin()->first;
  first ? late_.emplace_hint(late_.begin(), span.beginNs, span) : late_.emplace(span.beginNs, span);
  // Merging when there are as many late spans as others costs amortized constant time for each and
  // bounds the memory.
  if (late_.size() >= kFewLate && late_.size() >= spans_.size()) mergeLate();
}

void SpanIndex::mergeLate() const {
  const std::size_t index = beginningFrom(late_.begin()->first);
  const auto sorted = static_cast<std::ptrdiff_t>(spans_.size());
  for (const auto& [beginNs, span] : late_) spans_.push_back(span);
  late_.clear();
  // Stable: of spans with equal begins the late ones come last.
  std::inplace_merge(spans_.begin() + static_cast<std::ptrdiff_t>(index), spans_.begin() + sorted,
                     spans_.end(),
                     [](const Span& a, const Span& b) { return a.beginNs < b.beginNs; });
  recomputeFrom(index);
}

bool SpanIndex::addCategoryBits(std::int64_t ns, std::uint8_t bits) {
  const std::size_t i = beginningFrom(ns);
  Span* found = i < spans_.size() && spans_[i].beginNs == ns ? &spans_[i] : nullptr;
  if (const auto late = late_.lower_bound(ns); !found && late != late_.end() && late->first == ns) {
    found = &late->second;
  }
  if (!found) return false;
  if ((found->category | bits) != found->category) categories_.changedFrom(i);
  found->category |= bits;
  return true;
}

std::int64_t SpanIndex::busyBefore(std::size_t index) const {
  if (index == 0) return 0;
  const std::size_t block = (index - 1) / kBusyBlock;
  std::int64_t sum = busyBeforeBlock_[block];
  for (std::size_t i = block * kBusyBlock; i < index; ++i) sum += length(spans_[i]);
  return sum;
}

void SpanIndex::recomputeFrom(std::size_t index) const {
  categories_.changedFrom(index);
  const std::size_t blocks = (spans_.size() + kBusyBlock - 1) / kBusyBlock;
  std::size_t block = std::min(index / kBusyBlock, busyBeforeBlock_.size());
  while (busyBeforeBlock_.size() < blocks) {
    reserveOneMore(busyBeforeBlock_);
    busyBeforeBlock_.push_back(0);
  }
  busyBeforeBlock_.resize(blocks);
  // The sum before the block of `index` stays, unless the block is new.
  for (; block < blocks; ++block) {
    if (block == 0) continue;
    std::int64_t sum = busyBeforeBlock_[block - 1];
    for (std::size_t i = (block - 1) * kBusyBlock; i < block * kBusyBlock; ++i) {
      sum += length(spans_[i]);
    }
    busyBeforeBlock_[block] = sum;
  }
  if (reach_.empty()) {
    // Ends are sorted as long as no span contains another.
    const auto from = static_cast<std::ptrdiff_t>(index > 0 ? index - 1 : 0);
    const bool nested =
        !std::is_sorted(spans_.begin() + from, spans_.end(),
                        [](const Span& a, const Span& b) { return a.endNs < b.endNs; });
    if (!nested) return;
    index = 0;
  }
  reach_.resize(spans_.size());
  for (std::size_t i = index; i < spans_.size(); ++i) {
    reach_[i] = i == 0 ? spans_[i].endNs : std::max(reach_[i - 1], spans_[i].endNs);
  }
}

void SpanIndex::truncate(std::size_t count) {
  settled();
  if (count >= spans_.size()) return;
  spans_.resize(count);
  if (!reach_.empty()) reach_.resize(count);
  recomputeFrom(count);
}

void SpanIndex::dropFirst(std::size_t count) {
  settled();
  spans_.erase(spans_.begin(),
               spans_.begin() + static_cast<std::ptrdiff_t>(std::min(count, size())));
  busyBeforeBlock_.clear();
  reach_.clear();
  recomputeFrom(0);
}

std::size_t SpanIndex::beginningFrom(std::int64_t ns) const {
  const auto found = std::partition_point(spans_.begin(), spans_.end(),
                                          [ns](const Span& span) { return span.beginNs < ns; });
  return static_cast<std::size_t>(found - spans_.begin());
}

std::size_t SpanIndex::firstFrom(std::int64_t ns) const {
  settled();
  return beginningFrom(ns);
}

std::int64_t SpanIndex::summedNs(std::int64_t beginNs, std::int64_t endNs) const {
  const std::size_t first = firstFrom(beginNs), last = beginningFrom(endNs);
  if (first >= last) return 0;
  return busyBefore(last) - busyBefore(first);
}

std::size_t SpanIndex::firstBeginningFrom(std::size_t from, std::int64_t ns) const {
  // Exponential search: the next pixel is near in a sparse lane, far in a dense one.
  std::size_t low = from;
  std::size_t step = 1;
  while (low + step < spans_.size() && spans_[low + step].beginNs < ns) {
    low += step;
    step *= 2;
  }
  const auto end =
      spans_.begin() + static_cast<std::ptrdiff_t>(std::min(low + step, spans_.size()));
  const auto found = std::partition_point(spans_.begin() + static_cast<std::ptrdiff_t>(low), end,
                                          [ns](const Span& span) { return span.beginNs < ns; });
  return static_cast<std::size_t>(found - spans_.begin());
}

std::pair<std::size_t, std::size_t> SpanIndex::touching(std::int64_t beginNs,
                                                        std::int64_t endNs) const {
  settled();
  std::size_t low = 0;
  std::size_t high = spans_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const bool over = reach(middle) <= beginNs && spans_[middle].beginNs < beginNs;
    if (over) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == spans_.size()) return {low, low};
  return {low, std::max(low, firstBeginningFrom(low, endNs))};
}

void SpanIndex::visible(std::int64_t beginNs, std::int64_t endNs, double nsPerPixel,
                        const std::function<void(const VisibleSpan&)>& visit) const {
  const auto [first, last] = touching(beginNs, endNs);
  const auto spanAt = [this](std::size_t i) -> const Span& { return spans_[i]; };
  CategoryShares::Sums before, after;
  std::size_t summedUpTo = 0;
  std::size_t busyUpTo =
      0;  // runs are often neighbours: the sum behind one is that before the next
  std::int64_t busyBehind = 0;
  /// The category of a run, from the sums before it and after it.
  const auto largestOf = [&](std::size_t from, std::size_t to) {
    const CategoryShares& sums = categories_;
    if (before.ns.empty()) {
      before = categories().nothing();
    }
    if (sums.slotCount() == 1) return spans_[from].category;
    sums.advance(before, summedUpTo, from, spanAt);
    after = before;
    sums.advance(after, from, to, spanAt);
    std::swap(before, after);
    summedUpTo = to;
    return sums.largest(after, before);
  };
  const auto isLong = [&](std::size_t i) {
    return static_cast<double>(length(spans_[i])) >= nsPerPixel;
  };
  std::int64_t drawnUpToNs = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = first; i < last;) {
    const Span& span = spans_[i];
    if (isLong(i)) {
      visit({span.beginNs, span.endNs, 1, span.payload, 1, span.category});
      drawnUpToNs = std::max(drawnUpToNs, span.endNs);
      ++i;
      continue;
    }
    const double column = std::floor(static_cast<double>(span.beginNs - beginNs) / nsPerPixel);
    // Rounding to nanoseconds must not move the span out of its column.
    std::int64_t runBegin = std::min(columnBegin(beginNs, nsPerPixel, column), span.beginNs);
    std::int64_t runEnd = std::max(columnBegin(beginNs, nsPerPixel, column + 1), span.beginNs + 1);
    std::size_t next = std::clamp(firstBeginningFrom(i, runEnd), i + 1, last);
    // A long span can only be the last to begin in a column, and is visited alone.
    if (next - i > 1 && isLong(next - 1)) runEnd = spans_[--next].beginNs;
    runBegin = std::min(std::max(runBegin, drawnUpToNs), span.beginNs);
    runEnd = std::max({runEnd, spans_[next - 1].endNs, runBegin + 1});

    const std::int64_t busyAhead = i == busyUpTo ? busyBehind : busyBefore(i);
    busyUpTo = next;
    busyBehind = busyBefore(next);
    const std::int64_t busy = busyBehind - busyAhead;
    const double share = static_cast<double>(busy) / static_cast<double>(runEnd - runBegin);
    const std::uint8_t category = next - i == 1 ? span.category : largestOf(i, next);
    visit({runBegin, runEnd, std::min(share, 1.0), span.payload,
           static_cast<std::uint32_t>(next - i), category});
    drawnUpToNs = std::max(drawnUpToNs, runEnd);
    i = next;
  }
}

const CategoryShares& SpanIndex::categories() const {
  categories_.extend(spans_.size(), [this](std::size_t i) -> const Span& { return spans_[i]; });
  return categories_;
}

void SpanIndex::shares(std::int64_t beginNs, double nsPerPixel, int columns,
                       const std::function<void(int, const ColumnShares&)>& visit) const {
  settled();
  const auto spanAt = [this](std::size_t i) -> const Span& { return spans_[i]; };
  const CategoryShares& sums = categories();
  std::vector<std::size_t> order(sums.slotCount());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&sums](std::size_t a, std::size_t b) {
    return sums.categoryOf(a) < sums.categoryOf(b);
  });
  // The sums up to a time are those of the spans that begin before it, less what lies after it.
  CategoryShares::Sums whole = sums.nothing(), here, next;
  std::vector<Span> open;  // those that begin before a time and end after it
  const auto sumUpTo = [&](std::int64_t ns, std::size_t from, std::size_t to) {
    sums.advance(whole, from, to, spanAt);
    std::erase_if(open, [ns](const Span& span) { return span.endNs <= ns; });
    for (std::size_t i = to; i > from && reach(i - 1) > ns; --i) {
      if (spans_[i - 1].endNs > ns) open.push_back(spans_[i - 1]);
    }
    CategoryShares::Sums cut = whole;
    for (const Span& span : open) cut.ns[sums.slotOf(span.category)] -= span.endNs - ns;
    return cut;
  };
  std::int64_t fromNs = columnBegin(beginNs, nsPerPixel, 0);
  std::size_t first = beginningFrom(fromNs);
  here = sumUpTo(fromNs, 0, first);
  std::vector<CategoryTime> parts;
  for (int column = 0; column < columns; ++column) {
    const std::int64_t toNs = columnBegin(beginNs, nsPerPixel, column + 1);
    const std::size_t last = firstBeginningFrom(first, toNs);
    if (last > first || !open.empty()) {
      next = sumUpTo(toNs, first, last);
      parts.clear();
      for (const std::size_t slot : order) {
        const CategoryTime part{sums.categoryOf(slot), next.ns[slot] - here.ns[slot],
                                next.begun[slot] - here.begun[slot]};
        if (part.ns > 0 || part.begun > 0) parts.push_back(part);
      }
      if (!parts.empty()) visit(column, {toNs - fromNs, parts});
      std::swap(here, next);
    }
    first = last;
    fromNs = toNs;
  }
}

std::optional<std::size_t> SpanIndex::at(std::int64_t ns, std::int64_t toleranceNs) const {
  settled();
  if (spans_.empty()) return std::nullopt;
  const std::size_t next = ns == std::numeric_limits<std::int64_t>::max()
                               ? spans_.size()
                               : firstBeginningFrom(0, ns + 1);
  for (std::size_t i = next; i > 0 && reach(i - 1) > ns; --i) {
    if (spans_[i - 1].endNs > ns) return i - 1;
  }
  std::optional<std::size_t> nearest;
  std::int64_t best = toleranceNs;
  if (next > 0 && ns - spans_[next - 1].endNs <= best) {
    nearest = next - 1;
    best = ns - spans_[next - 1].endNs;
  }
  if (next < spans_.size() && spans_[next].beginNs - ns <= best &&
      (!nearest || spans_[next].beginNs - ns < best)) {
    nearest = next;
  }
  return nearest;
}

std::optional<std::size_t> SpanIndex::after(std::int64_t ns) const {
  settled();
  const auto found =
      std::upper_bound(spans_.begin(), spans_.end(), ns,
                       [](std::int64_t t, const Span& span) { return t < span.beginNs; });
  if (found == spans_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - spans_.begin());
}

std::optional<std::size_t> SpanIndex::before(std::int64_t ns) const {
  settled();
  const auto found =
      std::lower_bound(spans_.begin(), spans_.end(), ns,
                       [](const Span& span, std::int64_t t) { return span.beginNs < t; });
  if (found == spans_.begin()) return std::nullopt;
  return static_cast<std::size_t>(found - spans_.begin()) - 1;
}

}  // namespace highwater::analysis
