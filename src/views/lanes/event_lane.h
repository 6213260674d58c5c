#pragma once

#include <map>
#include <tuple>
#include <type_traits>

#include "core/names.h"
#include "views/lanes/lane_kind.h"
#include "views/lanes/share_columns.h"

namespace highwater::views {

/// Returns the begin and the end of an event that has a duration, in ns since the start of the run.
template <typename Event>
TimeRange rangeOf(const Event& event) {
  return {event.begin_ns(), event.begin_ns() + event.duration_ns()};
}

/// Base of lanes whose events have a begin and a duration and stand in one vector of the store. An
/// event's index is its place in that vector.
template <typename Event>
class EventLane : public LaneKind {
 public:
  using LaneKind::LaneKind;

  bool exists(const Store& store, std::uint32_t index) const override {
    return index < events(store).size();
  }
  const analysis::SpanIndex* spans(const Store& store, const LaneRow&) const override {
    return &lane(store);
  }
  TimeRange range(const Store& store, std::uint32_t index) const override {
    return rangeOf(events(store)[index]);
  }
  std::uint32_t step(const Store& store, std::uint32_t index) const override {
    return events(store)[index].step();
  }
  std::optional<std::uint32_t> nearest(const Store& store, std::int64_t ns,
                                       int direction) const override {
    const analysis::SpanIndex& spans = lane(store);
    const auto found = direction > 0 ? spans.after(ns - 1) : spans.before(ns);
    return found ? std::optional(spans[*found].payload) : std::nullopt;
  }
  std::optional<std::uint32_t> neighbour(const Store& store, std::uint32_t index, int direction,
                                         const std::optional<OpRef>& op, bool) const override {
    const analysis::SpanIndex& spans = lane(store);
    const auto by = static_cast<std::size_t>(direction);  // -1 wraps, and so ends the loop at 0
    for (std::size_t i = placeOf(store, index) + by; i < spans.size(); i += by) {
      if (!op || this->op(store, spans[i].payload) == op) {
        return spans[i].payload;
      }
    }
    return std::nullopt;
  }

 protected:
  virtual const std::vector<Event>& events(const Store& store) const = 0;
  virtual const analysis::SpanIndex& lane(const Store& store) const = 0;

 private:
  /// The event's place in its lane, which is sorted by time; the vector need not be.
  std::size_t placeOf(const Store& store, std::uint32_t index) const {
    const analysis::SpanIndex& spans = lane(store);
    const TimeRange range = this->range(store, index);
    const auto [first, last] = spans.touching(range.beginNs, range.endNs + 1);
    for (std::size_t i = first; i < last; ++i) {
      if (spans[i].payload == index) {
        return i;
      }
    }
    return index;
  }
};

/// A glyph of a lane, before those are left out that would cover each other.
struct PlacedGlyph {
  double x = 0;
  std::uint8_t category = 0;
  int rank = 0;
  double gap = kGlyphGap;  ///< the least distance from the glyph before it, in pixels
};
/// Chooses from glyphs those that are drawn: none is nearer to the one before than its gap, and
/// where there is room for one only, it is the first of the highest rank.
[[nodiscard]] std::vector<PlacedGlyph> thinnedGlyphs(std::vector<PlacedGlyph> glyphs);

/// Base of the lanes of sync points and of fallbacks: draws each event as a bar with a glyph above
/// it.
template <typename Event>
class LostTimeLane : public EventLane<Event> {
 public:
  std::optional<OpRef> op(const LaneKind::Store& store, std::uint32_t index) const override {
    const Event& event = this->events(store)[index];
    OpRef op{this->look().lane, QString::fromStdString(store.name(event.op())),
             QString::fromStdString(
                 store.placeText(event.phase(), event.module_id(), event.call_site()))};
    if constexpr (std::is_same_v<Event, events::SyncPoint>) {
      op.kind = event.kind();
      op.planned = event.deliberate() != 0;
    }
    return op;
  }

  CallSiteId callSite(const LaneKind::Store& store, std::uint32_t index) const override {
    return this->events(store)[index].call_site();
  }

  std::optional<LaneKind::Index> longest(const LaneKind::Store& store, const OpRef& op,
                                         const TimeRange& range) const override {
    const analysis::SpanIndex& spans = this->lane(store);
    // Names and places are texts; many events share the few ids behind them.
    std::map<std::tuple<NameId, events::Phase, ModuleId, CallSiteId>, bool> isWanted;
    std::optional<LaneKind::Index> best;
    std::int64_t bestNs = -1;
    const std::size_t last = spans.firstFrom(range.endNs);
    for (std::size_t i = spans.firstFrom(range.beginNs); i < last; ++i) {
      const Event& event = this->events(store)[spans[i].payload];
      if (event.duration_ns() <= bestNs) {
        continue;
      }
      if constexpr (std::is_same_v<Event, events::SyncPoint>) {
        const bool planned = event.deliberate() != 0;
        if (event.kind() != op.kind || op.planned.value_or(planned) != planned) {
          continue;
        }
      }
      const auto [known, isNew] = isWanted.try_emplace(
          {event.op(), event.phase(), event.module_id(), event.call_site()}, false);
      if (isNew) {
        std::optional<OpRef> found = this->op(store, spans[i].payload);
        found->planned = op.planned;
        known->second = found == op;
      }
      if (known->second) {
        best = spans[i].payload;
        bestNs = event.duration_ns();
      }
    }
    return best;
  }

  /// Events of a pixel and more are bars; the columns of shorter ones are stacks of shares, in
  /// which nothing that matters more vanishes behind the rest.
  std::function<void()> prepare(const LaneFrame& f, const LaneRow& row) const override {
    const QRectF place(f.left, row.top + 11, f.right - f.left, row.height - 14);
    const analysis::SpanIndex& spans = this->lane(f.store);
    ShareColumns columns(f, place);
    std::vector<Bar> bars;
    std::vector<PlacedGlyph> glyphs;
    f.eachVisible(spans, [&](const analysis::VisibleSpan& span, double x, double wide) {
      if (span.count > 1) {
        columns.merge(span);
        return;
      }
      const QRectF box(x, place.top(), std::max(wide, 2.0), place.height());
      bars.push_back({span, box});
      const double middle = std::floor(x + box.width() / 2) + 0.5;
      glyphs.push_back({middle, span.category, markOf(span.category, f.theme).rank, kGlyphGap});
    });
    for (const Bar& bar : bars) {
      columns.cover(bar.box.left(), bar.box.width());
    }
    Stack stack;
    columns.eachMerged(spans, [&](int column, const analysis::ColumnShares& shares) {
      fillColumn(columns, column, shares, f.theme, stack, glyphs);
    });
    // What matters more is drawn later, over the rest.
    std::stable_sort(bars.begin(), bars.end(), [&](const Bar& a, const Bar& b) {
      return markOf(a.span.category, f.theme).rank < markOf(b.span.category, f.theme).rank;
    });
    return [this, &f, &row, place, columns = std::move(columns), bars = std::move(bars),
            glyphs = thinnedGlyphs(std::move(glyphs))] {
      columns.draw();
      drawTexture(f, columns, place);
      for (const Bar& bar : bars) {
        drawBar(f, bar.span, bar.box, markOf(bar.span.category, f.theme).color);
      }
      for (const PlacedGlyph& placed : glyphs) {
        const Mark mark = markOf(placed.category, f.theme);
        drawGlyph(f.painter, mark.glyph, {placed.x, row.top + mark.y}, mark.color, f.theme.plot);
      }
    };
  }

 protected:
  LostTimeLane(Lane lane, const QString& label, const QString& tip)
      : EventLane<Event>({lane, 26, 24, LaneOutline{9, 1}, true, label, tip}) {}

  struct Mark {
    Glyph glyph;
    QColor color;
    double y;      ///< of the glyph's centre, below the row's top
    int rank = 0;  ///< a higher one is seen where there is room for one only
  };
  /// `category` is that of the store's span.
  virtual Mark markOf(std::uint8_t category, const Theme& theme) const = 0;
  virtual void drawBar(const LaneFrame& frame, const analysis::VisibleSpan& span, const QRectF& box,
                       const QColor& color) const = 0;
  /// Draws over the columns of merged events what tells their kind apart without colour.
  virtual void drawTexture(const LaneFrame&, const ShareColumns&, const QRectF&) const {}

 private:
  struct Bar {
    analysis::VisibleSpan span;
    QRectF box;
  };

  /// What a column is made of: here, to allocate once.
  struct Stack {
    struct Layer {
      Mark mark;
      double share = 0;
    };
    std::vector<Layer> layers;
    std::vector<SharePart> parts;
    std::vector<QRgb> colors;
  };

  /// The highest rank at the bottom, with two pixels at least.
  void fillColumn(ShareColumns& columns, int column, const analysis::ColumnShares& shares,
                  const Theme& theme, Stack& stack, std::vector<PlacedGlyph>& glyphs) const {
    auto& [layers, parts, colors] = stack;
    layers.clear();
    parts.clear();
    colors.clear();
    for (const analysis::CategoryTime& part : shares.parts) {
      const Mark mark = markOf(part.category, theme);
      if (part.begun > 0) {
        glyphs.push_back({columns.xOf(column) + 0.5, part.category, mark.rank, kMergedGlyphGap});
      }
      const double share = static_cast<double>(part.ns) / static_cast<double>(shares.columnNs);
      const auto same = std::find_if(layers.begin(), layers.end(), [&mark](const auto& layer) {
        return layer.mark.rank == mark.rank;
      });
      same != layers.end() ? void(same->share += share) : layers.push_back({mark, share});
    }
    std::sort(layers.begin(), layers.end(),
              [](const auto& a, const auto& b) { return a.mark.rank > b.mark.rank; });
    for (const auto& layer : layers) {
      parts.push_back({layer.share, parts.empty() ? 2 : 1});
      colors.push_back(layer.mark.color.rgb());
    }
    columns.fill(column, parts, colors);
  }
};

}  // namespace highwater::views
