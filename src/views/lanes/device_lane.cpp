#include "analysis/device/device_timeline.h"
#include "views/lanes/event_words.h"
#include "views/lanes/lane_kind.h"
#include "views/lanes/share_columns.h"

namespace highwater::views {
namespace {

using analysis::DeviceTimeline;
using analysis::Span;
using analysis::SpanIndex;

/// What the device did: a bracket for the device span of each step, and below it busy and idle
/// time. Its events are the device spans; an event's index is the row of its step.
class DeviceLane final : public LaneKind {
 public:
  DeviceLane()
      : LaneKind({Lane::kDevice, 28, 24, LaneOutline{2, 2}, true, tr("Device"),
                  tr("What the device did. Above: the span of each step on the device, measured.\n"
                     "Below: busy and idle time, an estimate from the host's waits; half-high: the "
                     "device kept up with the host and was idle for a part that is not known")}) {}

  RowLabel label(const Store& store, const LaneRow&) const override {
    RowLabel label{look().label, {}};
    if (store.deviceTimeline().knowsActivity()) {
      label.note = QStringList{tr("estimate"), tr("est.")};
    }
    return label;
  }

  std::function<void()> prepare(const LaneFrame& f, const LaneRow& row) const override {
    const DeviceTimeline& device = f.store.deviceTimeline();
    const QRectF bar(f.left, row.top + 10, f.right - f.left, row.height - 14);
    return [&f, &row, drawActivity = activity(f, device, bar),
            brackets = stepBrackets(f, device, row.top + 4)] {
      drawActivity();
      for (const QRectF& each : brackets) {
        f.painter.fillRect(each, f.theme.text2);
      }
      if (const QString why = absence(f.store); !why.isEmpty()) {
        f.painter.setFont(textFont(kSmallText));
        f.painter.setPen(f.theme.text3);
        const QRectF box(f.left, row.top, f.right - f.left, row.height);
        f.painter.drawText(box, Qt::AlignVCenter, fitText(f.painter, {why}, box.width()));
      }
    };
  }

  bool exists(const Store& store, std::uint32_t index) const override {
    return placeOf(store, index).has_value();
  }
  const SpanIndex* spans(const Store& store, const LaneRow&) const override {
    return &store.deviceTimeline().stepSpans();
  }
  TimeRange range(const Store& store, std::uint32_t index) const override {
    const Span& span = spanOf(store, index);
    return {span.beginNs, span.endNs};
  }
  std::uint32_t step(const Store& store, std::uint32_t index) const override {
    return store.steps().records[index].step();
  }
  std::optional<std::uint32_t> nearest(const Store& store, std::int64_t ns,
                                       int direction) const override {
    const SpanIndex& lane = store.deviceTimeline().stepSpans();
    const auto found = direction > 0 ? lane.after(ns - 1) : lane.before(ns);
    return found ? std::optional(lane[*found].payload) : std::nullopt;
  }
  std::optional<std::uint32_t> neighbour(const Store& store, std::uint32_t index, int direction,
                                         const std::optional<OpRef>&, bool) const override {
    const SpanIndex& lane = store.deviceTimeline().stepSpans();
    const std::size_t next = *placeOf(store, index) + static_cast<std::size_t>(direction);
    return next < lane.size() ? std::optional(lane[next].payload) : std::nullopt;
  }

  QString mergedText(const Store& store, const LaneRow& row, std::int64_t beginNs,
                     double lengthNs) const override {
    const QString merged = LaneKind::mergedText(store, row, beginNs, lengthNs);
    const auto endNs = beginNs + static_cast<std::int64_t>(lengthNs);
    const auto busy = store.deviceTimeline().busyShare(beginNs, endNs);
    return merged.isEmpty() || !busy ? merged : merged + QLatin1Char('\n') + busyText(*busy);
  }
  QString partName(std::uint8_t /*category*/) const override { return tr("in steps"); }

  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    const Span& span = spanOf(store, index);
    EventText t{Glyph::kSquare,
                theme.busy,
                tr("step %1 on the device").arg(step(store, index)),
                highwater::text(formatDuration(span.endNs - span.beginNs)),
                {}};
    if (span.category == DeviceTimeline::kPlaceEstimated) {
      t.details << tr("its place is an estimate");
    }
    if (const auto busy = store.deviceTimeline().busyShare(span.beginNs, span.endNs)) {
      t.details << busyText(*busy);
    }
    return t;
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    const Span& span = spanOf(store, index);
    const events::StepRecord& record = store.steps().records[index];
    const bool placed = span.category == DeviceTimeline::kPlaced;
    const auto busy = store.deviceTimeline().busyShare(span.beginNs, span.endNs);
    return {{tr("Step"), QString::number(record.step())},
            {tr("Device span"), highwater::text(formatDuration(span.endNs - span.beginNs))},
            {placed ? tr("At") : tr("At, estimate"), atTime(span.beginNs)},
            {tr("Host time"), highwater::text(formatDuration(record.duration_ns()))},
            {tr("Busy, estimate"), busy ? percentText(*busy) : QString()}};
  }

 private:
  static QString busyText(double share) { return tr("busy %1, estimate").arg(percentText(share)); }

  /// Why there is nothing to see; empty if there is, or if the run has hardly begun.
  static QString absence(const Store& store) {
    if (!store.hasQueue()) {
      return tr("The CPU has no queue: the host runs the ops itself");
    }
    const DeviceTimeline& device = store.deviceTimeline();
    constexpr std::size_t kFewSteps = 10;
    if (device.knowsActivity() || !device.stepSpans().empty() ||
        store.steps().records.size() < kFewSteps) {
      return {};
    }
    return store.phases().empty()
               ? tr("Not known: at level off no waits are recorded. Choose monitor in Run, Level")
               : tr("Not known: no device spans, and no wait that shows when the queue was empty");
  }

  /// What draws busy and idle time in `place`.
  static std::function<void()> activity(const LaneFrame& f, const DeviceTimeline& device,
                                        const QRectF& place) {
    const double from = std::max(std::round(f.scale.pixelAt(device.beginNs())), f.left);
    const double to = std::min(std::round(f.scale.pixelAt(device.endNs())), f.right);
    if (!device.knowsActivity() || from >= to) {
      return [] {};
    }
    ShareColumns columns(f, place);
    std::vector<std::pair<QRectF, int>> boxes;
    f.eachVisible(device.activity(), [&](const analysis::VisibleSpan& span, double x, double wide) {
      if (span.count > 1 || wide < 3) {
        columns.merge(span);
      } else {
        boxes.emplace_back(QRectF(x, place.top(), wide, place.height()), span.category);
      }
    });
    for (const auto& [box, category] : boxes) {
      columns.cover(box.left(), box.width());
    }
    const QRgb busy = f.theme.busy.rgb();
    columns.eachMerged(device.activity(), [&](int column, const analysis::ColumnShares& shares) {
      double ns = 0;
      for (const analysis::CategoryTime& part : shares.parts) {
        ns += static_cast<double>(part.ns) * (part.category == DeviceTimeline::kBusy ? 1 : 0.5);
      }
      const SharePart part{ns / static_cast<double>(shares.columnNs), 0};
      columns.fill(column, {&part, 1}, {&busy, 1});
    });
    return [&f, from, to, place, columns = std::move(columns), boxes = std::move(boxes)] {
      QColor line = f.theme.busy;
      line.setAlphaF(0.55f);
      f.painter.fillRect(QRectF(from, place.top(), to - from, place.height()),
                         hatchBrush(line, f.theme.plot, 5));
      columns.draw();
      for (auto [box, category] : boxes) {
        if (category == DeviceTimeline::kHalfBusy) {
          box.setTop(box.top() + std::floor(box.height() / 2));
        }
        f.painter.fillRect(box, f.theme.busy);
      }
    };
  }

  /// The brackets of the steps' device spans; short ones are lines without edges, in one piece
  /// where they are neighbours.
  static std::vector<QRectF> stepBrackets(const LaneFrame& f, const DeviceTimeline& device,
                                          double top) {
    std::vector<QRectF> lines, edges;
    f.eachVisible(device.stepSpans(), [&](const analysis::VisibleSpan& span, double x, double w) {
      if (span.count > 1 || w < 5) {
        addOrExtend(lines, QRectF(x, top, w, 2));
        return;
      }
      // Edges only where the span ends, not where the view does.
      const bool begins = f.scale.pixelAt(span.beginNs) >= f.left;
      const bool ends = f.scale.pixelAt(span.endNs) <= f.right;
      lines.emplace_back(x + 1, top, w - 2, 2);
      for (const double edge : {begins ? x + 1 : -1, ends ? x + w - 2 : -1}) {
        if (edge >= 0) {
          edges.emplace_back(edge, top, 1, 5);
        }
      }
    });
    lines.insert(lines.end(), edges.begin(), edges.end());
    return lines;
  }

  /// The place of a step's span in its lane, which has the rows in order if the steps arrived in
  /// the order of time.
  static std::optional<std::size_t> placeOf(const Store& store, std::uint32_t index) {
    const SpanIndex& lane = store.deviceTimeline().stepSpans();
    std::size_t low = 0, high = lane.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      lane[middle].payload < index ? void(low = middle + 1) : void(high = middle);
    }
    if (low < lane.size() && lane[low].payload == index) {
      return low;
    }
    for (std::size_t i = 0; i < lane.size(); ++i) {
      if (lane[i].payload == index) {
        return i;
      }
    }
    return std::nullopt;
  }
  static Span spanOf(const Store& store, std::uint32_t index) {
    return store.deviceTimeline().stepSpans()[*placeOf(store, index)];
  }
};

}  // namespace

const LaneKind& deviceLane() {
  static const DeviceLane kLane;
  return kLane;
}

}  // namespace highwater::views
