#pragma once

#include <QPainter>
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "analysis/live_store.h"
#include "views/lanes/event_ref.h"
#include "views/lanes/event_text.h"
#include "views/panes/paint.h"
#include "views/panes/time_axis.h"

namespace highwater::views {

/// One row of ops in the timeline: the ops at one nesting depth of a thread. `hiddenBelow` is the
/// number of deeper levels of that thread that have no row.
struct OpLane {
  analysis::OpColumns::LaneKey key;
  int hiddenBelow = 0;

  bool operator==(const OpLane&) const = default;
};

/// A row of the timeline, in logical pixels of the pane.
struct LaneRow {
  Lane lane = Lane::kSteps;
  double top = 0;
  double height = 0;
  OpLane ops = {};  ///< only for Lane::kOps

  [[nodiscard]] bool operator==(const LaneRow&) const = default;
};

/// The name of a row in the gutter. A long text is elided in the middle: the names of threads
/// differ at their end. `suffix` is never cut.
struct RowLabel {
  QString text, suffix;
  bool nested = false;    ///< belongs to the row above: indented, without a line between them
  QStringList note = {};  ///< fainter, behind the name, as far as it fits; longest form first
};

/// What a lane draws with. Valid during one replot.
struct LaneFrame {
  QPainter& painter;
  const analysis::LiveStore& store;
  const Theme& theme;
  TimeScale scale;
  double left, right;  ///< of the plot, in pixels

  /// Calls f(span, x, width) for each visible span, an analysis::VisibleSpan; `x` and `width` are
  /// whole pixels, cut to the plot, and `width` is at least 1. Spans narrower than a pixel arrive
  /// merged, one for each pixel column, so a frame costs pixels × log N.
  template <typename F>
  void eachVisible(const analysis::SpanIndex& spans, F&& f) const {
    const double nsPerPixel = scale.nsPerPixel();
    // As std::round(scale.pixelAt(ns)), which for tens of thousands of spans takes longer.
    const auto edgeAt = [&](std::int64_t ns) {
      const double x = scale.left + static_cast<double>(ns - scale.range.beginNs) / nsPerPixel;
      return static_cast<double>(static_cast<int>(std::clamp(x, left, right) + 0.5));
    };
    spans.visible(scale.range.beginNs, scale.range.endNs, nsPerPixel,
                  [&](const analysis::VisibleSpan& span) {
                    const double x = edgeAt(span.beginNs);
                    f(span, x, std::max(edgeAt(span.endNs) - x, 1.0));
                  });
  }
};

/// Distances from a row's edges to the outline of a picked event, in pixels.
struct LaneOutline {
  double top = 1, bottom = 1;
};
/// What is the same for all rows of a lane: heights in pixels, the outline of a picked event, label
/// and tooltip.
struct LaneLook {
  Lane lane = Lane::kSteps;
  double height = 26, smallHeight = 24;
  std::optional<LaneOutline> outline = LaneOutline{};  ///< std::nullopt: picked events get none
  bool titleNamesStep = true;                          ///< "copy_, step 12"
  QString label = {}, tip = {};                        ///< in the gutter; ops have one for each row
};

/// Everything that the window knows about one kind of lane: its label and tooltip, how it is drawn,
/// where its events are, and how each reads. The kinds stand in one table, behind laneKind().
///
/// Functions that take an `index` require exists(store, index).
class LaneKind {
 public:
  using Store = analysis::LiveStore;
  /// The index of an event in the store, as in EventRef.
  using Index = std::uint32_t;

  explicit LaneKind(LaneLook look) : look_(std::move(look)) {}
  virtual ~LaneKind() = default;

  [[nodiscard]] const LaneLook& look() const { return look_; }

  /// The height of a row in pixels. `small` is the layout for small windows: see
  /// PaneStack::setSmall().
  [[nodiscard]] double height(bool small) const { return small ? look_.smallHeight : look_.height; }
  /// The name of a row in the gutter, left of the plot.
  [[nodiscard]] virtual RowLabel label(const Store&, const LaneRow&) const {
    return {look_.label, {}};
  }
  /// The tooltip for the name of a row.
  [[nodiscard]] virtual QString labelTip(const Store&, const LaneRow&) const { return look_.tip; }
  /// Draws the visible events of a row.
  virtual void draw(const LaneFrame& frame, const LaneRow& row) const { prepare(frame, row)(); }
  /// Finds what there is to draw, and returns what draws it; a lane has one of the two functions.
  /// This one runs on any thread, one row a thread, after LiveStore::prepareForDrawing(): it reads
  /// spans and makes images, and leaves `frame.painter` and texts to what it returns.
  [[nodiscard]] virtual std::function<void()> prepare(const LaneFrame& frame,
                                                      const LaneRow& row) const {
    return [this, &frame, &row] { draw(frame, row); };
  }

  /// Whether the store has an event of this kind at `index`.
  [[nodiscard]] virtual bool exists(const Store& store, Index index) const = 0;
  /// Whether the event is drawn in `row`.
  [[nodiscard]] virtual bool isIn(const LaneRow&, const Store&, Index) const { return true; }
  /// Returns the spans of a row. nullptr for lanes without spans, such as markers, which have no
  /// length.
  [[nodiscard]] virtual const analysis::SpanIndex* spans(const Store& store,
                                                         const LaneRow& row) const = 0;
  /// Returns the begin and the end of the event, which are equal for a marker.
  [[nodiscard]] virtual TimeRange range(const Store& store, Index index) const = 0;
  /// Returns the number of the event's step, 0 outside of all steps.
  [[nodiscard]] virtual std::uint32_t step(const Store& store, Index index) const = 0;
  /// Returns the op that the event belongs to; std::nullopt for events that are not of an op.
  [[nodiscard]] virtual std::optional<OpRef> op(const Store&, Index) const { return std::nullopt; }

  /// Returns the event of `row` at the time `ns`, or else the nearest one within `slackNs`;
  /// std::nullopt if there is none.
  [[nodiscard]] virtual std::optional<Index> at(const Store& store, const LaneRow& row,
                                                std::int64_t ns, std::int64_t slackNs) const;
  /// Returns the first event that begins at or after `ns` (`direction` 1), or the last before it
  /// (-1); std::nullopt if there is none.
  [[nodiscard]] virtual std::optional<Index> nearest(const Store& store, std::int64_t ns,
                                                     int direction) const = 0;
  /// Returns the event after (`direction` 1) or before (-1) the one at `index`; std::nullopt if
  /// there is none. With `op` it is the next event of that op. `sameThread` keeps ops to the thread
  /// of the event at `index`; other lanes ignore it.
  [[nodiscard]] virtual std::optional<Index> neighbour(const Store& store, Index index,
                                                       int direction,
                                                       const std::optional<OpRef>& op,
                                                       bool sameThread) const = 0;

  /// Returns where the event was called from; kNoId where that is not known.
  [[nodiscard]] virtual CallSiteId callSite(const Store&, Index) const { return kNoId; }

  /// Returns the longest event of an op that begins in a range; std::nullopt if there is none. For
  /// recorded ops an empty name stands for all ops of the module `where`.
  [[nodiscard]] virtual std::optional<Index> longest(const Store&, const OpRef&,
                                                     const TimeRange&) const {
    return std::nullopt;
  }

  /// Returns the word for the spans of a category, for the tooltip of a column in which several are
  /// merged: "device move". Empty: the tooltip shows one event.
  [[nodiscard]] virtual QString partName(std::uint8_t /*category*/) const { return {}; }
  /// Describes what is merged in [beginNs, beginNs + lengthNs) of a row: each part with its share
  /// of the time. Empty if fewer than two events begin there.
  [[nodiscard]] virtual QString mergedText(const Store& store, const LaneRow& row,
                                           std::int64_t beginNs, double lengthNs) const;

  /// Describes the event in a few words, for tooltips and the details strip.
  [[nodiscard]] virtual EventText text(const Store& store, Index index,
                                       const Theme& theme) const = 0;
  /// Returns all that is known about the event. Facts with an empty value are not shown.
  [[nodiscard]] virtual std::vector<EventFact> facts(const Store& store, Index index) const = 0;

 private:
  LaneLook look_;
};

/// Returns the description of a lane of the timeline: how it is drawn and where its events are.
[[nodiscard]] const LaneKind& laneKind(Lane lane);

/// Whether the store has the event. It drops old ops, so an event may cease to exist.
[[nodiscard]] bool exists(const analysis::LiveStore& store, const EventRef& event);
/// Returns the event's begin and end; {0, 0} if there is no such event.
[[nodiscard]] TimeRange timeRangeOf(const analysis::LiveStore& store, const EventRef& event);
/// Returns the op of a fallback, a sync point or a recorded op; std::nullopt for any other event.
[[nodiscard]] std::optional<OpRef> opOf(const analysis::LiveStore& store, const EventRef& event);

/// Returns where an event was called from: see LaneKind::callSite(). kNoId if there is no such
/// event.
[[nodiscard]] CallSiteId callSiteOf(const analysis::LiveStore& store, const EventRef& event);

/// Returns `color` at full strength for a `share` of 1, and fainter for less. Merged spans so show
/// how busy a pixel was.
[[nodiscard]] QColor shaded(QColor color, double share);

/// The least distance in pixels between two glyphs of a lane; closer ones would cover each other.
inline constexpr double kGlyphGap = 9;
/// The same where events are merged: one glyph then stands for many.
inline constexpr double kMergedGlyphGap = 18;
/// The colour of text on a bright span, in both themes.
inline const QColor kOnBright{0x12, 0x14, 0x17};

/// The one description of the lane of steps. Use laneKind() instead.
[[nodiscard]] const LaneKind& stepLane();
/// The one description of the lane of phases. Use laneKind() instead.
[[nodiscard]] const LaneKind& phaseLane();
/// The one description of the lanes of recorded ops. Use laneKind() instead.
[[nodiscard]] const LaneKind& opLane();
/// The one description of the lane of waits for the device. Use laneKind() instead.
[[nodiscard]] const LaneKind& syncPointLane();
/// The one description of the lane of fallbacks. Use laneKind() instead.
[[nodiscard]] const LaneKind& fallbackLane();
/// The one description of the lane of markers. Use laneKind() instead.
[[nodiscard]] const LaneKind& markerLane();
/// The one description of the lane of the device. Use laneKind() instead.
[[nodiscard]] const LaneKind& deviceLane();
/// The one description of the lane of evaluations and named phases. Use laneKind() instead.
[[nodiscard]] const LaneKind& namedLane();

}  // namespace highwater::views
