#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <optional>

#include "analysis/live_store.h"
#include "views/time_axis.h"

namespace highwater::views {

enum class Lane : std::uint8_t { kSteps, kPhases, kSyncPoints, kFallbacks, kMarkers, kOps };

/// An event: its lane, and its index in the store's column of that kind (of an op its row). The
/// index behind the last marker is the end of the run, where endMark() says that there is one.
struct EventRef {
  Lane lane = Lane::kSteps;
  std::uint32_t index = 0;

  bool operator==(const EventRef&) const = default;
};

/// The end of a run that did not end as planned or on request: it gets a mark in the timeline.
[[nodiscard]] const RunEnd* endMark(const analysis::LiveStore& store);
/// What the mark says: "crashed (signal 11)", "out of memory", …
[[nodiscard]] QString endMarkText(const RunEnd& end);

/// All events of one op at one place, in one lane: what a row of a table stands for. Of ops the
/// place is empty: a row stands for all its calls.
struct OpRef {
  Lane lane = Lane::kFallbacks;
  QString op;     ///< "aten::embedding_renorm_"
  QString where;  ///< as in analysis::OpTotal

  bool operator==(const OpRef&) const = default;
};

/// Whether the store has the event (still: old ops are forgotten).
[[nodiscard]] bool exists(const analysis::LiveStore& store, const EventRef& event);
[[nodiscard]] TimeRange timeRangeOf(const analysis::LiveStore& store, const EventRef& event);
/// The op of a fallback, a sync point or an op's span; none in other lanes.
[[nodiscard]] std::optional<OpRef> opOf(const analysis::LiveStore& store, const EventRef& event);

/// What is picked: one event, and the op whose spans and row are marked. Timeline, details and
/// tables share it and need not know each other.
class EventFocus final : public QObject {
  Q_OBJECT

 public:
  EventFocus(const analysis::LiveStore* store, TimeAxis* axis, QObject* parent = nullptr);

  [[nodiscard]] const std::optional<EventRef>& picked() const { return picked_; }
  [[nodiscard]] const std::optional<OpRef>& op() const { return op_; }

  /// Picks an event, and its op where it has one.
  void pick(const EventRef& event);
  /// Picks an op's spans; keeps the event where it is one of them.
  void pickOp(const OpRef& op);
  void clear();
  /// The neighbour of the picked event in its lane, of the same op where an op is picked (of ops on
  /// the same thread, at any depth); without a picked event the fallback, else the sync point, else
  /// the op, nearest to the cursor or the view's end. Scrolls to it. False where there is none.
  bool next() { return step(+1); }
  bool previous() { return step(-1); }

 signals:
  void changed();

 private:
  bool step(int direction);
  /// `sameThread`: from a picked op, to its thread's next one.
  bool stepToOp(std::size_t fromRow, int direction, bool sameThread);
  [[nodiscard]] std::optional<EventRef> nearest(int direction) const;
  void go(const EventRef& event);

  const analysis::LiveStore* store_;
  TimeAxis* axis_;
  std::optional<EventRef> picked_;
  std::optional<OpRef> op_;
};

}  // namespace highwater::views
