#include <limits>
#include <utility>
#include <vector>

#include "views/lanes/event_words.h"

namespace highwater::views {
namespace {

constexpr double kHalfGlyph = 5;      ///< pixels from the middle of a glyph to its edge
constexpr double kLeastEndText = 40;  ///< pixels: no text of the end is shortened to less

/// Markers have a time and no length. The mark of the run's end follows the last one.
class MarkerLane final : public LaneKind {
 public:
  MarkerLane()
      : LaneKind({Lane::kMarkers, 26, 24, std::nullopt, false, tr("Markers"),
                  tr("Changed knobs, notes, and problems such as running out of memory")}) {}

  void draw(const LaneFrame& f, const LaneRow& row) const override { drawMarkers(f, row); }

  bool exists(const Store& store, std::uint32_t index) const override {
    return isEnd(store, index) ? endMark(store) != nullptr : index < store.markers().size();
  }
  const analysis::SpanIndex* spans(const Store&, const LaneRow&) const override { return nullptr; }
  TimeRange range(const Store& store, std::uint32_t index) const override {
    const std::int64_t at =
        isEnd(store, index) ? store.completeUpToNs() : store.markers()[index].time_ns();
    return {at, at};
  }
  std::uint32_t step(const Store& store, std::uint32_t index) const override {
    return isEnd(store, index) ? 0 : store.markers()[index].step();
  }

  std::optional<std::uint32_t> at(const Store& store, const LaneRow&, std::int64_t ns,
                                  std::int64_t slackNs) const override {
    const auto& markers = store.markers();
    const auto found = std::find_if(markers.begin(), markers.end(), [&](const auto& marker) {
      return std::abs(marker.time_ns() - ns) <= slackNs;
    });
    const auto index = static_cast<std::uint32_t>(found - markers.begin());
    if (found != markers.end()) {
      return index;
    }
    const bool onEnd = endMark(store) && std::abs(store.completeUpToNs() - ns) <= 2 * slackNs;
    return onEnd ? std::optional(index) : std::nullopt;
  }
  std::optional<std::uint32_t> nearest(const Store&, std::int64_t, int) const override {
    return std::nullopt;
  }
  std::optional<std::uint32_t> neighbour(const Store& store, std::uint32_t index, int direction,
                                         const std::optional<OpRef>&, bool) const override {
    const auto& markers = store.markers();
    const auto keyOf = [&](std::uint32_t i) {
      const bool isEnd = i >= markers.size();
      return std::pair(isEnd ? std::numeric_limits<std::int64_t>::max() : markers[i].time_ns(), i);
    };
    std::optional<std::uint32_t> found;
    for (std::uint32_t i = 0; i < markers.size(); ++i) {
      const bool beyond = direction > 0 ? keyOf(i) > keyOf(index) : keyOf(i) < keyOf(index);
      const bool nearer =
          !found || (direction > 0 ? keyOf(i) < keyOf(*found) : keyOf(i) > keyOf(*found));
      if (beyond && nearer) found = i;
    }
    return found;
  }

  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    if (isEnd(store, index)) {
      const RunEnd& end = *store.end();
      return {
          Glyph::kOctagon, theme.vermillion, endMarkText(end), {}, {highwater::text(end.message)}};
    }
    const events::Marker& marker = store.markers()[index];
    return {markerGlyph(marker.kind()),
            markerColor(marker.kind(), theme),
            highwater::text(store.markerText(marker)),
            {},
            {tr("from step %1").arg(marker.step())}};
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    if (isEnd(store, index)) {
      const RunEnd& end = *store.end();
      return {{tr("End of the run"), endMarkText(end)},
              {tr("At"), atTime(store.completeUpToNs())},
              {tr("Message"), highwater::text(end.message)},
              {tr("Open op"), highwater::text(end.openOp)}};
    }
    const events::Marker& marker = store.markers()[index];
    return {{tr("Marker"), highwater::text(store.markerText(marker))},
            {tr("At"), atTime(marker.time_ns())},
            {tr("From step"), QString::number(marker.step())}};
  }

 private:
  static bool isEnd(const Store& store, std::uint32_t index) {
    return index == store.markers().size();
  }

  /// Where the mark of the run's end and its text are drawn.
  struct PlacedEnd {
    double x;      ///< of the glyph
    QRectF box;    ///< of the text; empty where there is no room for it
    QString text;  ///< shortened where a marker leaves it too little room
    double begin;  ///< the left edge of both
  };

  /// The markers in view by time: a note may have been added long after its time.
  static std::vector<const events::Marker*> shownMarkers(const LaneFrame& f) {
    std::vector<const events::Marker*> shown;
    for (const events::Marker& marker : f.store.markers()) {
      if (marker.time_ns() >= f.scale.range.beginNs && marker.time_ns() <= f.scale.range.endNs) {
        shown.push_back(&marker);
      }
    }
    std::stable_sort(shown.begin(), shown.end(),
                     [](const auto* a, const auto* b) { return a->time_ns() < b->time_ns(); });
    return shown;
  }

  static double markerX(const LaneFrame& f, const events::Marker& marker) {
    return std::round(f.scale.pixelAt(marker.time_ns())) + 0.5;
  }

  /// The end of a run is mostly at the right edge: then its text stands to the left of the glyph,
  /// and of the glyphs of markers that are as near as a text is short.
  static std::optional<PlacedEnd> placeEnd(const LaneFrame& f, const LaneRow& row,
                                           const std::vector<const events::Marker*>& shown) {
    const RunEnd* end = endMark(f.store);
    const double at = std::round(f.scale.pixelAt(f.store.completeUpToNs())) + 0.5;
    if (!end || at < f.left || at > f.right + 1) return std::nullopt;
    const double x = std::min(at, f.right - kHalfGlyph - 2);
    const QFontMetrics metrics = f.painter.fontMetrics();
    QString text = endMarkText(*end);
    double width = metrics.horizontalAdvance(text) + 2;
    const auto boxFrom = [&](double left) {
      return QRectF(left, row.top + 2, width, row.height - 4);
    };
    if (at + 12 + width < f.right) return PlacedEnd{x, boxFrom(x + 11), text, x - kHalfGlyph};
    double right = x - 11, left = f.left;
    for (auto marker = shown.rbegin(); marker != shown.rend(); ++marker) {
      const double other = markerX(f, **marker);
      if (right - other > kHalfGlyph + kLeastEndText) {
        left = other + 10;
        break;
      }
      right = std::min(right, other - 11);
    }
    if (right - width < left) {
      text = metrics.elidedText(text, Qt::ElideRight, static_cast<int>(right - left) - 2);
      width = metrics.horizontalAdvance(text) + 2;
    }
    if (right - left < kLeastEndText - kHalfGlyph) return PlacedEnd{x, {}, {}, x - kHalfGlyph};
    return PlacedEnd{x, boxFrom(right - width), text, right - width};
  }

  static void drawMarkers(const LaneFrame& f, const LaneRow& row) {
    f.painter.setFont(textFont(kSmallText));
    const std::vector<const events::Marker*> shown = shownMarkers(f);
    const std::optional<PlacedEnd> end = placeEnd(f, row, shown);
    const double y = row.top + row.height / 2;
    double free = -1e9;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const events::Marker& marker = *shown[i];
      const double x = markerX(f, marker);
      if (x < free) {
        continue;
      }
      drawGlyph(f.painter, markerGlyph(marker.kind()), {x, y}, markerColor(marker.kind(), f.theme),
                f.theme.plot);
      double next = i + 1 < shown.size() ? f.scale.pixelAt(shown[i + 1]->time_ns()) - 8 : f.right;
      // A marker that stands between the text and the glyph of the end has no room for its own.
      if (end) next = std::min(next, (x < end->begin ? end->begin : end->x - kHalfGlyph) - 8);
      f.painter.setPen(f.theme.text1);
      f.painter.drawText(QRectF(x + 10, row.top, std::max(next - x, 0.0), row.height),
                         Qt::AlignVCenter,
                         fitText(f.painter, markerForms(f.store, marker), next - x - 12));
      free = x + kGlyphGap;
    }
    if (end) drawEnd(f, y, *end);
  }

  static void drawEnd(const LaneFrame& f, double y, const PlacedEnd& end) {
    drawGlyph(f.painter, Glyph::kOctagon, {end.x, y}, f.theme.vermillion, f.theme.plot);
    f.painter.setPen(f.theme.vermillionText);
    f.painter.drawText(end.box, Qt::AlignVCenter, end.text);
  }
};

}  // namespace

const LaneKind& markerLane() {
  static const MarkerLane kLane;
  return kLane;
}

}  // namespace highwater::views
