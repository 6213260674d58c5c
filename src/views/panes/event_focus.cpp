#include "views/panes/event_focus.h"

namespace highwater::views {

EventFocus::EventFocus(const analysis::LiveStore* store, TimeAxis* axis, QObject* parent)
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
  const Lane lane = op_                               ? op_->lane
                    : !store_->fallbackLane().empty() ? Lane::kFallbacks
                    : !store_->syncLane().empty()     ? Lane::kSyncPoints
                                                      : Lane::kOps;
  const auto index = laneKind(lane).nearest(*store_, at, direction);
  return index ? std::optional(EventRef{lane, *index}) : std::nullopt;
}

bool EventFocus::step(int direction) {
  const bool fromPicked = picked_ && exists(*store_, *picked_);
  const std::optional<EventRef> from = fromPicked ? picked_ : nearest(direction);
  if (!from) {
    return false;
  }
  if (!fromPicked && (!op_ || opOf(*store_, *from) == op_)) {
    go(*from);
    return true;
  }
  const auto index =
      laneKind(from->lane)
          .neighbour(*store_, from->index, direction,
                     op_ && op_->lane == from->lane ? op_ : std::nullopt, fromPicked);
  if (index) {
    go({from->lane, *index});
  }
  return index.has_value();
}

void EventFocus::go(const EventRef& event) {
  axis_->reveal(timeRangeOf(*store_, event));
  pick(event);
}

}  // namespace highwater::views
