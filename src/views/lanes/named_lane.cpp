#include "analysis/named_phases.h"
#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"
#include "views/lanes/share_columns.h"

namespace highwater::views {
namespace {

/// Evaluations and the phases that a script names itself.
class NamedLane final : public EventLane<events::NamedSpan> {
 public:
  NamedLane()
      : EventLane({Lane::kNamed, 22, 20, LaneOutline{1, 1}, true, tr("Named"),
                   tr("Evaluations, and the phases that the script names itself")}) {}

  void draw(const LaneFrame& f, const LaneRow& row) const override {
    const QRectF place(f.left, row.top + 3, f.right - f.left, row.height - 7);
    ShareColumns columns(f, place);
    std::vector<std::pair<QRectF, std::uint32_t>> boxes;
    f.eachVisible(lane(f.store), [&](const analysis::VisibleSpan& span, double x, double width) {
      if (span.count > 1 || width < 3) {
        columns.merge(span);
        return;
      }
      boxes.emplace_back(QRectF(x, place.top(), width, place.height()), span.firstPayload);
    });
    for (const auto& [box, index] : boxes) {
      columns.cover(box.left(), box.width());
    }
    const QRgb color = f.theme.neutralBar.rgb();
    columns.eachMerged(lane(f.store), [&](int column, const analysis::ColumnShares& shares) {
      double ns = 0;
      for (const analysis::CategoryTime& part : shares.parts) {
        ns += static_cast<double>(part.ns);
      }
      const SharePart part{ns / static_cast<double>(shares.columnNs), 2};
      columns.fill(column, {&part, 1}, {&color, 1});
    });
    columns.draw();
    f.painter.setFont(textFont(kSmallText));
    for (const auto& [box, index] : boxes) {
      drawBox(f, box, nameOf(f.store, index));
    }
  }

  QString partName(std::uint8_t /*category*/) const override { return tr("in named phases"); }
  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    const events::NamedSpan& span = events(store)[index];
    EventText t{Glyph::kSquare,
                theme.neutralBar,
                nameOf(store, index),
                highwater::text(formatDuration(span.duration_ns())),
                {kindOf(store, span)}};
    if (span.step() > 0) {
      t.details << tr("step %1").arg(span.step());
    }
    if (span.continued() != 0) {
      t.details << tr("continued after another phase");
    }
    return t;
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    const events::NamedSpan& span = events(store)[index];
    return {{tr("Name"), nameOf(store, index)},
            {tr("Kind"), kindOf(store, span)},
            {tr("Host time"), highwater::text(formatDuration(span.duration_ns()))},
            {tr("At"), atTime(span.begin_ns())},
            {tr("Step"), span.step() > 0 ? QString::number(span.step()) : QString()},
            {tr("Thread"), highwater::text(store.threadName(span.thread()))},
            {tr("Continued"), span.continued() != 0 ? tr("yes") : QString()}};
  }

 protected:
  const std::vector<events::NamedSpan>& events(const Store& store) const override {
    return store.namedSpans();
  }
  const analysis::SpanIndex& lane(const Store& store) const override { return store.namedLane(); }

 private:
  static QString nameOf(const Store& store, std::uint32_t index) {
    return highwater::text(store.name(store.namedSpans()[index].name()));
  }
  static QString kindOf(const Store& store, const events::NamedSpan& span) {
    return analysis::isEvaluation(store, span) ? tr("held-out data")
                                               : tr("phase named by the script");
  }

  static void drawBox(const LaneFrame& f, const QRectF& box, const QString& name) {
    f.painter.fillRect(box.adjusted(0, 0, box.width() > 3 ? -1 : 0, 0), f.theme.track);
    f.painter.fillRect(QRectF(box.left(), box.top(), 2, box.height()), f.theme.neutralBar);
    const double room = box.width() - 10;
    const QString fits =
        fitText(f.painter, {name}, room).isEmpty() && room > 24
            ? f.painter.fontMetrics().elidedText(name, Qt::ElideRight, static_cast<int>(room))
            : fitText(f.painter, {name}, room);
    f.painter.setPen(f.theme.text1);
    f.painter.drawText(box.adjusted(6, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, fits);
  }
};

}  // namespace

const LaneKind& namedLane() {
  static const NamedLane kLane;
  return kLane;
}

}  // namespace highwater::views
