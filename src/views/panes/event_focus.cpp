#include "views/panes/event_focus.h"

#include <QFileInfo>

namespace highwater::views {
namespace {

/// An event shorter than this part of the view is hardly a pixel wide; then the view becomes so
/// many times as long as the event.
constexpr std::int64_t kLeastShare = 500, kShare = 40;

}  // namespace

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

void EventFocus::goTo(const EventRef& event) {
  if (!exists(*store_, event)) {
    return;
  }
  const TimeRange range = timeRangeOf(*store_, event);
  const std::int64_t length = range.endNs - range.beginNs;
  // A marker has no length, and any zoom shows it.
  if (length > 0 && axis_->visibleNs() / kLeastShare > length) {
    const std::int64_t around = length * (kShare - 1) / 2;
    axis_->setVisible({range.beginNs - around, range.endNs + around});
  }
  scrollTo(event);
}

void EventFocus::goTo(const OpRef& op, const TimeRange& range) {
  if (!op.op.isEmpty()) {
    pickOp(op);
  }
  if (const auto index = laneKind(op.lane).longest(*store_, op, range)) {
    goTo({op.lane, *index});
  }
}

bool EventFocus::hasSource(CallSiteId site) const {
  if (site == kNoId) {
    return false;
  }
  const auto known = hasSource_.constFind(site);
  if (known != hasSource_.constEnd()) {
    return *known;
  }
  // Only a full path: another one would depend on the folder that Highwater was started in.
  const CallSiteParts parts = store_->callSiteParts(site);
  const QString path = QString::fromStdString(parts.path);
  auto exists = isSource_.constFind(path);
  if (exists == isSource_.constEnd()) {
    // Once for a file: a folder of the network may take long to answer.
    const QFileInfo file(path);
    exists = isSource_.insert(path, file.isAbsolute() && file.isFile());
  }
  if (parts.number != 0) {
    hasSource_.insert(site, *exists);
  }
  return *exists;
}

void EventFocus::openSource(CallSiteId site) {
  if (hasSource(site)) {
    const CallSiteParts parts = store_->callSiteParts(site);
    emit sourceRequested(QString::fromStdString(parts.path), static_cast<int>(parts.number));
  }
}

void EventFocus::forgetRun() {
  clear();
  hasSource_.clear();
  isSource_.clear();
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
    scrollTo(*from);
    return true;
  }
  const auto index =
      laneKind(from->lane)
          .neighbour(*store_, from->index, direction,
                     op_ && op_->lane == from->lane ? op_ : std::nullopt, fromPicked);
  if (index) {
    scrollTo({from->lane, *index});
  }
  return index.has_value();
}

void EventFocus::scrollTo(const EventRef& event) {
  axis_->reveal(timeRangeOf(*store_, event));
  pick(event);
}

}  // namespace highwater::views
