#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/category_shares.h"

namespace highwater::analysis {

/// A span of a lane: [beginNs, endNs), the index of its event in the store, and a category that
/// decides how it is drawn.
struct Span {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  std::uint32_t payload = 0;
  std::uint8_t category = 0;
};

/// What a lane shows at a zoom level: one span of at least a pixel, or a run of shorter ones. A run
/// covers the pixel column in which its spans begin, minus the part that a longer neighbour covers;
/// it extends past the column if its last span does. Visible spans never overlap.
struct VisibleSpan {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  double busyShare = 1;  ///< the part of [beginNs, endNs) that spans cover; 1 for a single span
  std::uint32_t firstPayload = 0;
  std::uint32_t count = 1;    ///< number of spans in the run
  std::uint8_t category = 0;  ///< in a run the one that takes most of its time
};

/// The spans in one pixel column, by category, each cut to the column. Only categories that touch
/// the column are listed, in ascending order; `begun` counts those that begin in it.
struct ColumnShares {
  std::int64_t columnNs = 0;  ///< the time that the column covers
  std::span<const CategoryTime> parts;
};

/// The spans of one lane, sorted by begin and then by arrival, with a prefix sum of their lengths.
/// visible() costs pixels × log N once the sums by category are made, which prepare() or the first
/// query does in O(N). Spans of a lane should not overlap; if they do, busyShare counts the overlap
/// twice, up to 1.
///
/// A span that arrives late, with an earlier begin than the last one, is set aside; the next query
/// merges all such spans at once. So N spans cost N log N in any order of arrival.
/// addCategoryBits() and eachAt(), which are used while spans arrive, need no merge. Not
/// thread-safe, because const queries may merge.
class SpanIndex {
 public:
  /// Adds a span in amortized O(log N), in any order of time. An end before the begin is replaced
  /// by the begin.
  void append(const Span& span);
  /// Adds bits to the category of the span that begins at `ns`; if there are several, to the first
  /// that arrived. Returns false if there is none.
  bool addCategoryBits(std::int64_t ns, std::uint8_t bits);
  /// Calls visit(span) for the spans that begin at `ns`, in order of arrival, until it returns
  /// true.
  template <typename F>
  void eachAt(std::int64_t ns, F&& visit) const {
    for (std::size_t i = beginningFrom(ns); i < spans_.size() && spans_.begins[i] == ns; ++i) {
      if (visit(spans_[i])) return;
    }
    const auto [first, last] = late_.equal_range(ns);
    for (auto at = first; at != last; ++at) {
      if (visit(at->second)) return;
    }
  }
  /// Keeps the `count` earliest spans and removes the others.
  void truncate(std::size_t count);
  /// Adds many spans at once, in any order of time. Linear in the spans that begin later.
  void insert(std::vector<Span> spans);
  /// Removes the spans for which `drop` is true. Linear in all spans.
  void eraseIf(const std::function<bool(const Span&)>& drop);

  /// Merges late spans and makes the sums by category, which the next query would else do.
  void prepare() const {
    settled();
    (void)categories();
  }

  [[nodiscard]] std::size_t size() const { return spans_.size() + late_.size(); }
  /// What a span takes, in bytes: its columns, its share of the sums, and of the spare room.
  static constexpr std::size_t kBytesASpan = 34;
  [[nodiscard]] bool empty() const { return spans_.size() == 0; }
  [[nodiscard]] Span operator[](std::size_t i) const { return settled()[i]; }

  /// Calls visit() for everything to draw in [beginNs, endNs), in order of time. Spans shorter than
  /// nsPerPixel are merged into one run per pixel column, counted from beginNs. The first and the
  /// last may extend past the range. Precondition: nsPerPixel > 0.
  void visible(std::int64_t beginNs, std::int64_t endNs, double nsPerPixel,
               const std::function<void(const VisibleSpan&)>& visit) const;

  /// Calls visit(column, shares) for the pixel columns from 0 to `columns` that spans touch, in
  /// order of time. Column k begins k × nsPerPixel after beginNs, as in visible(). Precondition:
  /// nsPerPixel > 0.
  void shares(std::int64_t beginNs, double nsPerPixel, int columns,
              const std::function<void(int, const ColumnShares&)>& visit) const;

  /// Returns the index of the span at time `ns`, or else of the nearest one within `toleranceNs`;
  /// std::nullopt if there is none. Of overlapping spans it is the one that began last.
  [[nodiscard]] std::optional<std::size_t> at(std::int64_t ns, std::int64_t toleranceNs) const;
  /// Returns the index of the first span that begins after `ns`; std::nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> after(std::int64_t ns) const;
  /// Returns the index of the last span that begins before `ns`; std::nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> before(std::int64_t ns) const;
  /// The indices [first, last) of the spans that touch [beginNs, endNs). A span without length
  /// touches the range that contains its begin.
  [[nodiscard]] std::pair<std::size_t, std::size_t> touching(std::int64_t beginNs,
                                                             std::int64_t endNs) const;
  /// Returns the index of the first span that begins at or after `ns`; size() if there is none.
  [[nodiscard]] std::size_t firstFrom(std::int64_t ns) const;
  /// Returns the summed length, in ns, of the spans that begin in [beginNs, endNs).
  [[nodiscard]] std::int64_t summedNs(std::int64_t beginNs, std::int64_t endNs) const;

 private:
  /// Spans in columns: a search among their begins reads nothing else.
  struct Columns {
    std::vector<std::int64_t> begins, ends;
    std::vector<std::uint32_t> payloads;
    std::vector<std::uint8_t> categories;

    [[nodiscard]] std::size_t size() const { return begins.size(); }
    [[nodiscard]] Span operator[](std::size_t i) const {
      return {begins[i], ends[i], payloads[i], categories[i]};
    }
    [[nodiscard]] std::int64_t length(std::size_t i) const { return ends[i] - begins[i]; }
    void push_back(const Span& span);
    void set(std::size_t i, const Span& span);
    void resize(std::size_t count);
  };

  static void straighten(Span& span) { span.endNs = std::max(span.endNs, span.beginNs); }
  /// All spans, late ones merged. Every query by index starts here.
  const Columns& settled() const {
    if (!late_.empty()) mergeLate();
    return spans_;
  }
  static constexpr std::size_t kBlock = 8;

  class RunSums;

  void mergeLate() const;
  /// Merges spans that are sorted by begin. Of equal begins they come last.
  void merge(std::span<const Span> sorted) const;
  /// The largest end of the spans up to and including i.
  [[nodiscard]] std::int64_t reach(std::size_t i) const {
    return reach_.empty() ? spans_.ends[i] : reach_[i];
  }
  /// The first of spans_ that begins at or after `ns`, ignoring late_.
  [[nodiscard]] std::size_t beginningFrom(std::int64_t ns) const;
  /// The first of spans_ from index `from` on that begins at or after `ns`. Fast if it is near.
  [[nodiscard]] std::size_t firstBeginningFrom(std::size_t from, std::int64_t ns) const;
  void recomputeFrom(std::size_t index) const;
  /// The summed length of the first `index` spans, in ns.
  [[nodiscard]] std::int64_t busyBefore(std::size_t index) const;
  /// The sums by category, with all spans in them. Precondition: settled.
  [[nodiscard]] const CategoryShares& categories() const;

  // Mutable: merging late_ has no visible effect.
  mutable Columns spans_;
  /// The summed length of the spans before every kBlock-th.
  mutable std::vector<std::int64_t> busyBeforeBlock_;
  mutable std::vector<std::int64_t> reach_;  ///< see reach(); empty while no spans overlap
  mutable CategoryShares categories_;
  mutable std::multimap<std::int64_t, Span>
      late_;  ///< by begin; each begins before the last of spans_
};

}  // namespace highwater::analysis
