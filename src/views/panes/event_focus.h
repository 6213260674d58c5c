#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <optional>

#include "views/lanes/lane_kind.h"
#include "views/panes/time_axis.h"

namespace highwater::views {

/// Holds the picked event, and the op whose spans and table row are marked. Timeline, details and
/// tables share one instance, so they need not know each other.
class EventFocus final : public QObject {
  Q_OBJECT

 public:
  /// Picks events of `store` and scrolls `axis` to them. Neither is owned; both must outlive this
  /// object.
  EventFocus(const analysis::LiveStore* store, TimeAxis* axis, QObject* parent = nullptr);

  /// The picked event, if any. The store may have dropped it since: see exists().
  [[nodiscard]] const std::optional<EventRef>& picked() const { return picked_; }
  /// The op whose spans and table row are marked, if any.
  [[nodiscard]] const std::optional<OpRef>& op() const { return op_; }

  /// Picks an event and the op that it belongs to. Does nothing if there is no such event.
  void pick(const EventRef& event);
  /// Picks an op, so that its spans and its table row are marked. A picked event of another op is
  /// cleared.
  void pickOp(const OpRef& op);
  /// Picks an event and brings it into view: scrolls there, and zooms in where it would be too
  /// short to be seen. Does nothing if there is no such event.
  void goTo(const EventRef& event);
  /// Picks an op and goes to its longest event that begins in `range`. For recorded ops an empty
  /// name stands for all ops of the module `where`.
  void goTo(const OpRef& op, const TimeRange& range);
  /// Asks for the source of a call site: emits sourceRequested(). Does nothing where its file is
  /// not on this machine.
  void openSource(CallSiteId site);
  /// Whether the file of a call site is on this machine.
  [[nodiscard]] bool hasSource(CallSiteId site) const;
  /// Clears the picked event and the picked op.
  void clear();
  /// The same, and forgets what it knows about the run: call it when the store holds another one.
  void forgetRun();
  /// Picks the next event and scrolls to it; returns false if there is none. That is the neighbour
  /// of the picked event in its lane, limited to the picked op (for recorded ops: on the same
  /// thread, at any depth). Without a picked event it is the one nearest to the cursor, or else to
  /// the edge of the view: of the picked op's lane, or else the fallbacks, the sync points or the
  /// ops, whichever comes first in this order and has events.
  bool next() { return step(+1); }
  /// Picks the previous event by the rules of next() and scrolls to it; returns false if there is
  /// none.
  bool previous() { return step(-1); }

 signals:
  /// The picked event or the picked op has changed.
  void changed();
  /// The user wants to see a line of source code, in a file that exists.
  void sourceRequested(const QString& file, int line);

 private:
  bool step(int direction);
  [[nodiscard]] std::optional<EventRef> nearest(int direction) const;
  /// Picks an event and scrolls until it is in view.
  void scrollTo(const EventRef& event);

  const analysis::LiveStore* store_;
  TimeAxis* axis_;
  std::optional<EventRef> picked_;
  std::optional<OpRef> op_;
  mutable QHash<QString, bool> isSource_;      ///< by path: whether there is such a file
  mutable QHash<CallSiteId, bool> hasSource_;  ///< a table asks for each row at each redraw
};

}  // namespace highwater::views
