#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// The spans of one lane, sorted by begin, with a prefix sum of their lengths. A query costs pixels
/// × log N, whatever N is. Spans of a lane should not overlap; where they do, nothing is lost but
/// busyShare counts the time twice (and stops at 1).
class SpanIndex {
 public:
  /// Keeps the lane sorted; a span that begins before the last one is put in its place, which costs
  /// what follows it. An end before the begin is taken as the begin.
  void append(const Span& span);
  /// Gives a span another look.
  void setCategory(std::size_t i, std::uint8_t category) { spans_[i].category = category; }
  /// Forgets the `count` spans that begin first. Costs what remains.
  void dropFirst(std::size_t count);

  [[nodiscard]] std::size_t size() const { return spans_.size(); }
  [[nodiscard]] bool empty() const { return spans_.empty(); }
  [[nodiscard]] const Span& operator[](std::size_t i) const { return spans_[i]; }

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
  /// The largest end of the spans up to and including i.
  [[nodiscard]] std::int64_t reach(std::size_t i) const {
    return reach_.empty() ? spans_[i].endNs : reach_[i];
  }
  [[nodiscard]] std::size_t firstBeginningFrom(std::size_t from, std::int64_t ns) const;
  void recomputeFrom(std::size_t index);

  std::vector<Span> spans_;
  std::vector<std::int64_t> busyBefore_;  ///< summed length of the spans before each
  std::vector<std::int64_t> reach_;       ///< see reach(); empty as long as no spans overlap
};

}  // namespace highwater::analysis
