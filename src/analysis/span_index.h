#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace highwater::analysis {

/// A span of a lane: [beginNs, endNs), a category that chooses its look, and the index of the event
/// it stands for in its column.
struct Span {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  std::uint32_t payload = 0;
  std::uint8_t category = 0;
};

/// What one lane shows at one zoom: a span of a pixel or more, or a run of shorter ones. A run
/// covers the pixel column that its spans begin in, less what a longer neighbour takes of it, and
/// reaches past it where its last span does; so what is visited never overlaps.
struct VisibleSpan {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  double busyShare = 1;  ///< of [beginNs, endNs), 1 for a single span
  std::uint32_t firstPayload = 0;
  std::uint32_t count = 1;  ///< spans in the run
  std::uint8_t category =
      0;  ///< of the longest span in the run where it is short, else of its first
};

/// The spans of one lane, sorted by begin (of equal ones as they came), with a prefix sum of their
/// lengths. A query costs pixels × log N, whatever N is. Spans of a lane should not overlap; where
/// they do, nothing is lost but busyShare counts the time twice (and stops at 1).
///
/// Spans that come late, before the begin of one that is there, wait beside the lane and are merged
/// into it by the next query, all at once: N of them cost N log N, in whatever order they come.
/// What is asked while spans come, addCategoryBits() and eachAt(), does without the merge. As a
/// query may merge, a lane belongs to one thread.
class SpanIndex {
 public:
  /// An end before the begin is taken as the begin. Amortised log N.
  void append(const Span& span);
  /// Adds bits to the look of the span that begins at `ns`, of several the first that came. False
  /// where there is none.
  bool addCategoryBits(std::int64_t ns, std::uint8_t bits);
  /// Calls visit(span) for the spans that begin at `ns`, in the order they came, until it returns
  /// true.
  template <typename F>
  void eachAt(std::int64_t ns, F&& visit) const {
    for (std::size_t i = beginningFrom(ns); i < spans_.size() && spans_[i].beginNs == ns; ++i) {
      if (visit(spans_[i])) return;
    }
    const auto [first, last] = late_.equal_range(ns);
    for (auto at = first; at != last; ++at) {
      if (visit(at->second)) return;
    }
  }
  /// Forgets the `count` spans that begin first. Costs what remains.
  void dropFirst(std::size_t count);

  [[nodiscard]] std::size_t size() const { return spans_.size() + late_.size(); }
  [[nodiscard]] bool empty() const { return spans_.empty(); }
  [[nodiscard]] const Span& operator[](std::size_t i) const { return settled()[i]; }

  /// Calls `visit` for what of [beginNs, endNs) is to be drawn, in order of time: nothing shorter
  /// than nsPerPixel comes alone, shorter spans come as one run a pixel. The first and the last may
  /// reach past the range. Pixel columns are counted from beginNs. Precondition: nsPerPixel > 0.
  void visible(std::int64_t beginNs, std::int64_t endNs, double nsPerPixel,
               const std::function<void(const VisibleSpan&)>& visit) const;

  /// The span at `ns`, or the nearest one within `toleranceNs` of it; of spans that overlap, the
  /// one that began last.
  [[nodiscard]] std::optional<std::size_t> at(std::int64_t ns, std::int64_t toleranceNs) const;
  /// The first span that begins after `ns`; the last that begins before it.
  [[nodiscard]] std::optional<std::size_t> after(std::int64_t ns) const;
  [[nodiscard]] std::optional<std::size_t> before(std::int64_t ns) const;
  /// [first, last) of the spans that touch [beginNs, endNs). A span without length touches where it
  /// begins.
  [[nodiscard]] std::pair<std::size_t, std::size_t> touching(std::int64_t beginNs,
                                                             std::int64_t endNs) const;
  /// The first span that begins at or after `ns`; size() where there is none.
  [[nodiscard]] std::size_t firstFrom(std::int64_t ns) const;
  /// The summed length of the spans that begin in [beginNs, endNs).
  [[nodiscard]] std::int64_t summedNs(std::int64_t beginNs, std::int64_t endNs) const;

 private:
  /// The lane with all that came: every query that goes by place begins here.
  const std::vector<Span>& settled() const {
    if (!late_.empty()) mergeLate();
    return spans_;
  }
  void mergeLate() const;
  /// The largest end of the spans up to and including i.
  [[nodiscard]] std::int64_t reach(std::size_t i) const {
    return reach_.empty() ? spans_[i].endNs : reach_[i];
  }
  /// The first of spans_ that begins at or after `ns`, whatever came late.
  [[nodiscard]] std::size_t beginningFrom(std::int64_t ns) const;
  [[nodiscard]] std::size_t firstBeginningFrom(std::size_t from, std::int64_t ns) const;
  void recomputeFrom(std::size_t index) const;

  // Mutable: a query merges late_ into the others, which changes nothing that can be seen.
  mutable std::vector<Span> spans_;
  mutable std::vector<std::int64_t> busyBefore_;  ///< summed length of the spans before each
  mutable std::vector<std::int64_t> reach_;  ///< see reach(); empty as long as no spans overlap
  mutable std::multimap<std::int64_t, Span> late_;  ///< by begin; each before the last of spans_
};

}  // namespace highwater::analysis
