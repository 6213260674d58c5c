#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

/// What one lane shows at one zoom: a span of a pixel or more, or a run of shorter ones.
struct VisibleSpan {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  double busyShare = 1;  ///< of [beginNs, endNs), 1 for a single span
  std::uint32_t firstPayload = 0;
  std::uint32_t count = 1;  ///< spans in the run
  std::uint8_t category =
      0;  ///< of the longest span in the run where it is short, else of its first
};

/// The spans of one lane (they do not overlap), sorted by begin, with a prefix sum of their
/// lengths. A query costs pixels × log N, whatever N is.
class SpanIndex {
 public:
  /// Keeps the lane sorted; a span that begins before the last one is put in its place.
  void append(const Span& span);

  [[nodiscard]] std::size_t size() const { return spans_.size(); }
  [[nodiscard]] bool empty() const { return spans_.empty(); }
  [[nodiscard]] const Span& operator[](std::size_t i) const { return spans_[i]; }

  /// Calls `visit` for what of [beginNs, endNs) is to be drawn, in order of time: nothing shorter
  /// than nsPerPixel comes alone, shorter spans come as one run a pixel. Precondition: nsPerPixel >
  /// 0.
  void visible(std::int64_t beginNs, std::int64_t endNs, double nsPerPixel,
               const std::function<void(const VisibleSpan&)>& visit) const;

  /// The span at `ns`, or the nearest one within `toleranceNs` of it.
  [[nodiscard]] std::optional<std::size_t> at(std::int64_t ns, std::int64_t toleranceNs) const;
  /// The first span that begins after `ns`; the last that begins before it.
  [[nodiscard]] std::optional<std::size_t> after(std::int64_t ns) const;
  [[nodiscard]] std::optional<std::size_t> before(std::int64_t ns) const;
  /// [first, last) of the spans that touch [beginNs, endNs).
  [[nodiscard]] std::pair<std::size_t, std::size_t> touching(std::int64_t beginNs,
                                                             std::int64_t endNs) const;

 private:
  std::vector<Span> spans_;
  std::vector<std::int64_t> busyBefore_;  ///< summed length of the spans before each
};

}  // namespace highwater::analysis
