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

/// The time at which pixel column `column` begins.
std::int64_t columnBegin(std::int64_t originNs, double nsPerPixel, double column) {
  const double offset = std::ceil(column * nsPerPixel);
  constexpr double kLimit = 4e18;
  return originNs + static_cast<std::int64_t>(std::clamp(offset, -kLimit, kLimit));
}

}  // namespace

void SpanIndex::append(const Span& given) {
  Span span = given;
  straighten(span);
  if (spans_.size() == 0 || span.beginNs >= spans_.begins.back()) {
    spans_.push_back(span);
    const std::size_t last = spans_.size() - 1;
    // Nearly every span of a long lane needs no sum of a block before it and nests in no other.
    const bool isPlain =
        last % kBlock != 0 && reach_.empty() && span.endNs >= spans_.ends[last - 1];
    if (!isPlain) recomputeFrom(last);
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
  std::vector<Span> sorted;
  sorted.reserve(late_.size());
  for (const auto& [beginNs, span] : late_) sorted.push_back(span);
  late_.clear();
  merge(sorted);
}

void SpanIndex::insert(std::vector<Span> spans) {
  settled();
  for (Span& span : spans) straighten(span);
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.beginNs < b.beginNs; });
  merge(spans);
}

void SpanIndex::merge(std::span<const Span> sorted) const {
  if (sorted.empty()) return;
  const std::size_t index = beginningFrom(sorted.front().beginNs);
  std::size_t from = spans_.size(), to = from + sorted.size();
  spans_.resize(to);
  // From the end, so that nothing is overwritten. Of spans with equal begins the late ones come
  // last.
  for (auto next = sorted.rbegin(); next != sorted.rend();) {
    const bool isLast = from == 0 || spans_.begins[from - 1] <= next->beginNs;
    spans_.set(--to, isLast ? *next++ : spans_[--from]);
  }
  recomputeFrom(index);
}

bool SpanIndex::addCategoryBits(std::int64_t ns, std::uint8_t bits) {
  const std::size_t i = beginningFrom(ns);
  std::uint8_t* found =
      i < spans_.size() && spans_.begins[i] == ns ? &spans_.categories[i] : nullptr;
  if (const auto late = late_.lower_bound(ns); !found && late != late_.end() && late->first == ns) {
    found = &late->second.category;
  }
  if (!found) return false;
  if ((*found | bits) != *found) categories_.changedFrom(i);
  *found |= bits;
  return true;
}

std::int64_t SpanIndex::busyBefore(std::size_t index) const {
  if (index == 0) return 0;
  const std::size_t block = (index - 1) / kBlock;
  std::int64_t sum = busyBeforeBlock_[block];
  for (std::size_t i = block * kBlock; i < index; ++i) sum += spans_.length(i);
  return sum;
}

void SpanIndex::recomputeFrom(std::size_t index) const {
  categories_.changedFrom(index);
  const std::size_t blocks = (spans_.size() + kBlock - 1) / kBlock;
  std::size_t block = std::min(index / kBlock, busyBeforeBlock_.size());
  while (busyBeforeBlock_.size() < blocks) {
    reserveOneMore(busyBeforeBlock_);
    busyBeforeBlock_.push_back(0);
  }
  busyBeforeBlock_.resize(blocks);
  // The sum before the block of `index` stays, unless the block is new.
  for (block = std::max<std::size_t>(block, 1); block < blocks; ++block) {
    std::int64_t sum = busyBeforeBlock_[block - 1];
    for (std::size_t i = (block - 1) * kBlock; i < block * kBlock; ++i) sum += spans_.length(i);
    busyBeforeBlock_[block] = sum;
  }
  if (reach_.empty()) {
    // Ends are sorted as long as no span contains another.
    const auto from = static_cast<std::ptrdiff_t>(index > 0 ? index - 1 : 0);
    const bool nested = !std::is_sorted(spans_.ends.begin() + from, spans_.ends.end());
    if (!nested) return;
    index = 0;
  }
  reach_.resize(spans_.size());
  for (std::size_t i = index; i < spans_.size(); ++i) {
    reach_[i] = i == 0 ? spans_.ends[i] : std::max(reach_[i - 1], spans_.ends[i]);
  }
}

void SpanIndex::truncate(std::size_t count) {
  settled();
  if (count >= spans_.size()) return;
  spans_.resize(count);
  if (!reach_.empty()) reach_.resize(count);
  recomputeFrom(count);
}

void SpanIndex::eraseIf(const std::function<bool(const Span&)>& drop) {
  settled();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const Span span = spans_[i];
    if (!drop(span)) spans_.set(kept++, span);
  }
  if (kept == spans_.size()) return;
  spans_.resize(kept);
  busyBeforeBlock_.clear();
  reach_.clear();
  recomputeFrom(0);
}

std::size_t SpanIndex::beginningFrom(std::int64_t ns) const {
  const auto found = std::lower_bound(spans_.begins.begin(), spans_.begins.end(), ns);
  return static_cast<std::size_t>(found - spans_.begins.begin());
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
  const std::vector<std::int64_t>& begins = spans_.begins;
  std::size_t low = from;
  std::size_t step = 1;
  while (low + step < begins.size() && begins[low + step] < ns) {
    low += step;
    step *= 2;
  }
  const auto end =
      begins.begin() + static_cast<std::ptrdiff_t>(std::min(low + step, begins.size()));
  const auto found = std::lower_bound(begins.begin() + static_cast<std::ptrdiff_t>(low), end, ns);
  return static_cast<std::size_t>(found - begins.begin());
}

std::pair<std::size_t, std::size_t> SpanIndex::touching(std::int64_t beginNs,
                                                        std::int64_t endNs) const {
  settled();
  std::size_t low = 0;
  std::size_t high = spans_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const bool over = reach(middle) <= beginNs && spans_.begins[middle] < beginNs;
    if (over) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == spans_.size()) return {low, low};
  return {low, std::max(low, firstBeginningFrom(low, endNs))};
}

/// The sums of the runs of a lane, which are asked for in order of time.
class SpanIndex::RunSums {
 public:
  struct Run {
    std::uint8_t category;  ///< the one that takes most time
    std::int64_t busyNs;    ///< of all categories
  };

  explicit RunSums(const SpanIndex& index)
      : index_(index), shares_(index.categories()), before_(shares_.noTimes()), behind_(before_) {}

  /// Of the spans [from, to), which are not empty.
  Run of(std::size_t from, std::size_t to) {
    if (to - from == 1) return {index_.spans_.categories[from], index_.spans_.length(from)};
    if (shares_.slotCount() == 1) {
      return {shares_.categoryOf(0), index_.busyBefore(to) - index_.busyBefore(from)};
    }
    const auto spanAt = [this](std::size_t i) { return index_.spans_[i]; };
    if (to - from <= kBlock) {
      shares_.timesOf(from, to, spanAt, behind_);
      summedUpTo_ = kNothing;
    } else {
      // Runs are often neighbours: the sums behind one are those before the next.
      std::swap(before_, behind_);
      if (summedUpTo_ != from) shares_.timesBefore(from, spanAt, before_);
      shares_.timesBefore(to, spanAt, behind_);
      summedUpTo_ = to;
    }
    const bool isDifference = summedUpTo_ == to;
    std::size_t largest = 0;
    std::int64_t largestNs = -1, busyNs = 0;
    for (std::size_t slot = 0; slot < behind_.size(); ++slot) {
      const std::int64_t ns = isDifference ? behind_[slot] - before_[slot] : behind_[slot];
      busyNs += ns;
      const bool lower = shares_.categoryOf(slot) < shares_.categoryOf(largest);
      if (ns > largestNs || (ns == largestNs && lower)) {
        largest = slot;
        largestNs = ns;
      }
    }
    if (busyNs == 0) return {shares_.mostOften(from, to, spanAt), 0};
    return {shares_.categoryOf(largest), busyNs};
  }

 private:
  static constexpr std::size_t kNothing = std::numeric_limits<std::size_t>::max();

  const SpanIndex& index_;
  const CategoryShares& shares_;
  CategoryShares::Times before_, behind_;
  std::size_t summedUpTo_ = kNothing;  ///< where behind_ ends, if it is of all spans before
};

void SpanIndex::visible(std::int64_t beginNs, std::int64_t endNs, double nsPerPixel,
                        const std::function<void(const VisibleSpan&)>& visit) const {
  const auto [first, last] = touching(beginNs, endNs);
  if (first == last) return;
  RunSums sums(*this);
  const auto isLong = [&](std::size_t i) {
    return static_cast<double>(spans_.length(i)) >= nsPerPixel;
  };
  std::int64_t drawnUpToNs = std::numeric_limits<std::int64_t>::min();
  double column = -1;
  std::int64_t columnNs = columnBegin(beginNs, nsPerPixel, 0), columnEndNs = columnNs;
  /// Moves to the column in which a time lies: often the next one, which costs no division.
  const auto moveTo = [&](std::int64_t ns) {
    column += 1;
    columnNs = columnEndNs;
    columnEndNs = columnBegin(beginNs, nsPerPixel, column + 1);
    if (ns >= columnNs && ns < columnEndNs) return;
    column = std::floor(static_cast<double>(ns - beginNs) / nsPerPixel);
    // Rounding to nanoseconds must not move the span out of its column.
    columnNs = std::min(columnBegin(beginNs, nsPerPixel, column), ns);
    columnEndNs = std::max(columnBegin(beginNs, nsPerPixel, column + 1), ns + 1);
  };
  for (std::size_t i = first; i < last;) {
    const std::int64_t spanBeginNs = spans_.begins[i];
    if (isLong(i)) {
      const Span span = spans_[i];
      visit({span.beginNs, span.endNs, 1, span.payload, 1, span.category});
      drawnUpToNs = std::max(drawnUpToNs, span.endNs);
      ++i;
      continue;
    }
    moveTo(spanBeginNs);
    std::int64_t runBegin = columnNs, runEnd = columnEndNs;
    std::size_t next = std::clamp(firstBeginningFrom(i, runEnd), i + 1, last);
    // A long span can only be the last to begin in a column, and is visited alone.
    if (next - i > 1 && isLong(next - 1)) runEnd = spans_.begins[--next];
    runBegin = std::min(std::max(runBegin, drawnUpToNs), spanBeginNs);
    runEnd = std::max({runEnd, spans_.ends[next - 1], runBegin + 1});

    const auto [category, busyNs] = sums.of(i, next);
    const double share = static_cast<double>(busyNs) / static_cast<double>(runEnd - runBegin);
    visit({runBegin, runEnd, std::min(share, 1.0), spans_.payloads[i],
           static_cast<std::uint32_t>(next - i), category});
    drawnUpToNs = std::max(drawnUpToNs, runEnd);
    i = next;
  }
}

const CategoryShares& SpanIndex::categories() const {
  categories_.extend(spans_.size(), [this](std::size_t i) { return spans_[i]; });
  return categories_;
}

void SpanIndex::shares(std::int64_t beginNs, double nsPerPixel, int columns,
                       const std::function<void(int, const ColumnShares&)>& visit) const {
  settled();
  const auto spanAt = [this](std::size_t i) { return spans_[i]; };
  const CategoryShares& sums = categories();
  std::vector<std::size_t> order(sums.slotCount());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&sums](std::size_t a, std::size_t b) {
    return sums.categoryOf(a) < sums.categoryOf(b);
  });
  // The sums up to a time are those of the spans that begin before it, less what lies after it.
  CategoryShares::Sums whole = sums.nothing(), here, next;
  std::vector<Span> open;  // those that begin before a time and end after it
  const auto sumUpTo = [&](std::int64_t ns, std::size_t from, std::size_t to,
                           CategoryShares::Sums& cut) {
    sums.advance(whole, from, to, spanAt);
    std::erase_if(open, [ns](const Span& span) { return span.endNs <= ns; });
    for (std::size_t i = to; i > from && reach(i - 1) > ns; --i) {
      if (spans_.ends[i - 1] > ns) open.push_back(spans_[i - 1]);
    }
    cut = whole;
    for (const Span& span : open) cut.ns[sums.slotOf(span.category)] -= span.endNs - ns;
  };
  std::int64_t fromNs = columnBegin(beginNs, nsPerPixel, 0);
  std::size_t first = beginningFrom(fromNs);
  sumUpTo(fromNs, 0, first, here);
  std::vector<CategoryTime> parts;
  for (int column = 0; column < columns; ++column) {
    const std::int64_t toNs = columnBegin(beginNs, nsPerPixel, column + 1);
    const std::size_t last = firstBeginningFrom(first, toNs);
    if (last > first || !open.empty()) {
      sumUpTo(toNs, first, last, next);
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
  if (spans_.size() == 0) return std::nullopt;
  const std::size_t next = ns == std::numeric_limits<std::int64_t>::max()
                               ? spans_.size()
                               : firstBeginningFrom(0, ns + 1);
  for (std::size_t i = next; i > 0 && reach(i - 1) > ns; --i) {
    if (spans_.ends[i - 1] > ns) return i - 1;
  }
  std::optional<std::size_t> nearest;
  std::int64_t best = toleranceNs;
  if (next > 0 && ns - spans_.ends[next - 1] <= best) {
    nearest = next - 1;
    best = ns - spans_.ends[next - 1];
  }
  if (next < spans_.size() && spans_.begins[next] - ns <= best &&
      (!nearest || spans_.begins[next] - ns < best)) {
    nearest = next;
  }
  return nearest;
}

std::optional<std::size_t> SpanIndex::after(std::int64_t ns) const {
  settled();
  const std::vector<std::int64_t>& begins = spans_.begins;
  const auto found = std::upper_bound(begins.begin(), begins.end(), ns);
  if (found == begins.end()) return std::nullopt;
  return static_cast<std::size_t>(found - begins.begin());
}

std::optional<std::size_t> SpanIndex::before(std::int64_t ns) const {
  const std::size_t from = firstFrom(ns);
  if (from == 0) return std::nullopt;
  return from - 1;
}

void SpanIndex::Columns::resize(std::size_t count) {
  begins.resize(count);
  ends.resize(count);
  payloads.resize(count);
  categories.resize(count);
}

void SpanIndex::Columns::push_back(const Span& span) {
  const auto add = [](auto& column, auto value) {
    reserveOneMore(column);
    column.push_back(value);
  };
  add(begins, span.beginNs);
  add(ends, span.endNs);
  add(payloads, span.payload);
  add(categories, span.category);
}

void SpanIndex::Columns::set(std::size_t i, const Span& span) {
  begins[i] = span.beginNs;
  ends[i] = span.endNs;
  payloads[i] = span.payload;
  categories[i] = span.category;
}

}  // namespace highwater::analysis
