#pragma once

#include <map>
#include <tuple>
#include <type_traits>

#include "core/names.h"
#include "views/lanes/lane_kind.h"

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
        if (event.kind() != op.kind) {
          continue;
        }
      }
      const auto [known, isNew] = isWanted.try_emplace(
          {event.op(), event.phase(), event.module_id(), event.call_site()}, false);
      if (isNew) {
        known->second = this->op(store, spans[i].payload) == op;
      }
      if (known->second) {
        best = spans[i].payload;
        bestNs = event.duration_ns();
      }
    }
    return best;
  }

  void draw(const LaneFrame& f, const LaneRow& row) const override {
    double free = -1e9;
    f.eachVisible(
        this->lane(f.store), [&](const analysis::VisibleSpan& span, double x, double wide) {
          const QRectF box(x, row.top + 11, span.count == 1 ? std::max(wide, 2.0) : wide,
                           row.height - 14);
          const Mark mark = markOf(span.category, f.theme);
          drawBar(f, span, box, mark.color);
          const double middle = std::floor(x + box.width() / 2) + 0.5;
          if (middle >= free) {
            drawGlyph(f.painter, mark.glyph, {middle, row.top + mark.y}, mark.color, f.theme.plot);
            free = middle + kGlyphGap;
          }
        });
  }

 protected:
  LostTimeLane(Lane lane, const QString& label, const QString& tip)
      : EventLane<Event>({lane, 26, 24, LaneOutline{9, 1}, true, label, tip}) {}

  struct Mark {
    Glyph glyph;
    QColor color;
    double y;  ///< of the glyph's centre, below the row's top
  };
  /// `category` is that of the store's span.
  virtual Mark markOf(std::uint8_t category, const Theme& theme) const = 0;
  virtual void drawBar(const LaneFrame& frame, const analysis::VisibleSpan& span, const QRectF& box,
                       const QColor& color) const = 0;
};

}  // namespace highwater::views
