#include "views/event_focus.h"

#include <algorithm>

#include "core/names.h"

namespace highwater::views {

using analysis::LiveStore;
using analysis::SpanIndex;

namespace {

template <typename Event>
TimeRange rangeOf(const Event& event) {
  return {event.begin_ns(), event.begin_ns() + event.duration_ns()};
}

/// The lane's spans; null for markers, which have no length.
const SpanIndex* spansOf(const LiveStore& store, Lane lane) {
  switch (lane) {
    case Lane::kSteps:
      return &store.steps().lane;
    case Lane::kPhases:
      return &store.phaseLane();
    case Lane::kSyncPoints:
      return &store.syncLane();
    case Lane::kFallbacks:
      return &store.fallbackLane();
    case Lane::kMarkers:
      return nullptr;
  }
  return nullptr;
}

std::size_t countOf(const LiveStore& store, Lane lane) {
  const SpanIndex* spans = spansOf(store, lane);
  return spans ? spans->size() : store.markers().size();
}

bool exists(const LiveStore& store, const EventRef& event) {
  return event.index < countOf(store, event.lane);
}

/// Where the event stands in its lane, which is sorted by time (its column need not be).
std::size_t positionOf(const LiveStore& store, const EventRef& event) {
  const SpanIndex* spans = spansOf(store, event.lane);
  if (!spans) {
    return event.index;
  }
  const TimeRange range = timeRangeOf(store, event);
  const auto [first, last] = spans->touching(range.beginNs, range.endNs + 1);
  for (std::size_t i = first; i < last; ++i) {
    if ((*spans)[i].payload == event.index) {
      return i;
    }
  }
  return event.index;
}

EventRef eventAt(const LiveStore& store, Lane lane, std::size_t position) {
  const SpanIndex* spans = spansOf(store, lane);
  return {lane, spans ? (*spans)[position].payload : static_cast<std::uint32_t>(position)};
}

}  // namespace

TimeRange timeRangeOf(const LiveStore& store, const EventRef& event) {
  if (!exists(store, event)) {
    return {};
  }
  switch (event.lane) {
    case Lane::kSteps:
      return rangeOf(store.steps().records[event.index]);
    case Lane::kPhases:
      return rangeOf(store.phases()[event.index]);
    case Lane::kSyncPoints:
      return rangeOf(store.syncPoints()[event.index]);
    case Lane::kFallbacks:
      return rangeOf(store.fallbacks()[event.index]);
    case Lane::kMarkers: {
      const std::int64_t at = store.markers()[event.index].time_ns();
      return {at, at};
    }
  }
  return {};
}

std::optional<OpRef> opOf(const LiveStore& store, const EventRef& event) {
  const auto refer = [&](const auto& e) {
    std::string where(phaseName(e.phase()));
    if (const std::string path = store.modulePath(e.module_id()); !path.empty()) {
      where += ", " + path;
    }
    return OpRef{event.lane, QString::fromStdString(store.name(e.op())),
                 QString::fromStdString(where)};
  };
  if (event.lane == Lane::kSyncPoints && event.index < store.syncPoints().size()) {
    return refer(store.syncPoints()[event.index]);
  }
  if (event.lane == Lane::kFallbacks && event.index < store.fallbacks().size()) {
    return refer(store.fallbacks()[event.index]);
  }
  return std::nullopt;
}

EventFocus::EventFocus(const LiveStore* store, TimeAxis* axis, QObject* parent)
    : QObject(parent), store_(store), axis_(axis) {}

void EventFocus::pick(const EventRef& event) {
  if (!exists(*store_, event)) {
    return;
  }
  picked_ = event;
  op_ = opOf(*store_, event);
  emit changed();
}

void EventFocus::pickOp(const OpRef& op) {
  if (op_ == op) {
    return;
  }
  op_ = op;
  if (picked_ && opOf(*store_, *picked_) != op) {
    picked_.reset();
  }
  emit changed();
}

void EventFocus::clear() {
  if (picked_ || op_) {
    picked_.reset();
    op_.reset();
    emit changed();
  }
}

std::optional<EventRef> EventFocus::nearest(int direction) const {
  const std::int64_t at =
      axis_->cursor().value_or(direction > 0 ? axis_->visible().beginNs : axis_->visible().endNs);
  const Lane lane = op_                              ? op_->lane
                    : store_->fallbackLane().empty() ? Lane::kSyncPoints
                                                     : Lane::kFallbacks;
  const SpanIndex& spans = *spansOf(*store_, lane);
  const auto found = direction > 0 ? spans.after(at - 1) : spans.before(at);
  return found ? std::optional(eventAt(*store_, lane, *found)) : std::nullopt;
}

bool EventFocus::step(int direction) {
  std::optional<EventRef> at = picked_ && exists(*store_, *picked_) ? picked_ : std::nullopt;
  std::optional<EventRef> candidate;
  if (!at) {
    candidate = nearest(direction);
    if (!candidate) {
      return false;
    }
    if (!op_ || opOf(*store_, *candidate) == op_) {
      go(*candidate);
      return true;
    }
    at = candidate;
  }
  const bool sameOp = op_ && op_->lane == at->lane;
  const std::size_t count = countOf(*store_, at->lane);
  for (std::size_t i = positionOf(*store_, *at) + static_cast<std::size_t>(direction); i < count;
       i += static_cast<std::size_t>(direction)) {
    const EventRef event = eventAt(*store_, at->lane, i);
    if (!sameOp || opOf(*store_, event) == op_) {
      go(event);
      return true;
    }
  }
  return false;
}

void EventFocus::go(const EventRef& event) {
  axis_->reveal(timeRangeOf(*store_, event));
  pick(event);
}

}  // namespace highwater::views
