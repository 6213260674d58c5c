#include "views/event_focus.h"

#include <algorithm>
#include <unordered_map>

#include "core/names.h"

namespace highwater::views {

using analysis::LiveStore;
using analysis::SpanIndex;

namespace {

template <typename Event>
TimeRange rangeOf(const Event& event) {
  return {event.begin_ns(), event.begin_ns() + event.duration_ns()};
}

/// The lane's spans; null for markers, which have no length, and for ops, which have many lanes.
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
    case Lane::kOps:
      return nullptr;
  }
  return nullptr;
}

std::size_t countOf(const LiveStore& store, Lane lane) {
  const SpanIndex* spans = spansOf(store, lane);
  return spans ? spans->size() : store.markers().size();
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

/// Of all threads and depths the op that begins next after `at`, or last before it.
std::optional<EventRef> nearestOp(const LiveStore& store, std::int64_t at, int direction) {
  std::optional<EventRef> best;
  std::int64_t bestNs = 0;
  for (const auto& [key, spans] : store.ops().lanes) {
    const auto found = direction > 0 ? spans.after(at - 1) : spans.before(at);
    if (!found) {
      continue;
    }
    const std::int64_t beginNs = spans[*found].beginNs;
    if (!best || (direction > 0 ? beginNs < bestNs : beginNs > bestNs)) {
      best = EventRef{Lane::kOps, spans[*found].payload};
      bestNs = beginNs;
    }
  }
  return best;
}

EventRef eventAt(const LiveStore& store, Lane lane, std::size_t position) {
  const SpanIndex* spans = spansOf(store, lane);
  return {lane, spans ? (*spans)[position].payload : static_cast<std::uint32_t>(position)};
}

}  // namespace

bool exists(const LiveStore& store, const EventRef& event) {
  if (event.lane == Lane::kOps) {
    return store.ops().at(event.index) != nullptr;
  }
  if (event.lane == Lane::kMarkers && event.index == store.markers().size()) {
    return endMark(store) != nullptr;
  }
  return event.index < countOf(store, event.lane);
}

const RunEnd* endMark(const LiveStore& store) {
  using Reason = RunEnd::Reason;
  const auto& end = store.end();
  if (!end || end->reason == Reason::kFinished || end->reason == Reason::kAborted) {
    return nullptr;
  }
  // One that was asked to stop and had to be killed did not stop by itself.
  return end->reason == Reason::kStopped && end->signal == 0 ? nullptr : &*end;
}

QString endMarkText(const RunEnd& end) {
  using Reason = RunEnd::Reason;
  switch (end.reason) {
    case Reason::kCrashed:
      return EventFocus::tr("crashed, signal %1").arg(end.signal);
    case Reason::kExited:
      return EventFocus::tr("exited with code %1").arg(end.exitCode);
    case Reason::kHung:
      return EventFocus::tr("hung");
    case Reason::kNonsense:
      return EventFocus::tr("ended: broke the protocol");
    case Reason::kStopped:
      return EventFocus::tr("killed, signal %1").arg(end.signal);
    default:
      return EventFocus::tr("failed");
  }
}

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
      const bool isEnd = event.index == store.markers().size();
      const std::int64_t at =
          isEnd ? store.completeUpToNs() : store.markers()[event.index].time_ns();
      return {at, at};
    }
    case Lane::kOps:
      return rangeOf(*store.ops().at(event.index));
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
  if (event.lane == Lane::kOps && exists(store, event)) {
    return OpRef{
        Lane::kOps, QString::fromStdString(store.name(store.ops().at(event.index)->op())), {}};
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
  const Lane lane = op_                               ? op_->lane
                    : !store_->fallbackLane().empty() ? Lane::kFallbacks
                    : !store_->syncLane().empty()     ? Lane::kSyncPoints
                                                      : Lane::kOps;
  if (lane == Lane::kOps) {
    return nearestOp(*store_, at, direction);
  }
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
  if (at->lane == Lane::kOps) {
    return exists(*store_, *at) && stepToOp(at->index, direction, !candidate);
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

bool EventFocus::stepToOp(std::size_t fromRow, int direction, bool sameThread) {
  const analysis::OpColumns& ops = store_->ops();
  const events::OpSpan& from = *ops.at(fromRow);
  // By name, not by what the picked span is called: the op may have been picked in the table.
  const QString wanted =
      op_ && op_->lane == Lane::kOps ? op_->op : QString::fromStdString(store_->name(from.op()));
  std::unordered_map<NameId, bool> isWanted;  // millions of ops have some hundred names
  for (std::size_t row = fromRow + static_cast<std::size_t>(direction); ops.at(row) != nullptr;
       row += static_cast<std::size_t>(direction)) {
    const events::OpSpan& op = *ops.at(row);
    if (sameThread && op.thread() != from.thread()) {
      continue;
    }
    const auto [known, isNew] = isWanted.try_emplace(op.op(), false);
    if (isNew) {
      known->second = QString::fromStdString(store_->name(op.op())) == wanted;
    }
    if (known->second) {
      go({Lane::kOps, static_cast<std::uint32_t>(row)});
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
