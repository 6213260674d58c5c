#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"
#include "views/lanes/share_columns.h"

namespace highwater::views {
namespace {

/// A phase's name, longest form first.
QStringList phaseForms(events::Phase phase) {
  switch (phase) {
    case events::Phase::BatchAssembly:
      return {"batch assembly", "batch"};
    case events::Phase::DeviceMove:
      return {"device move", "move"};
    case events::Phase::Forward:
      return {"forward", "fwd"};
    case events::Phase::LossRead:
      return {"loss read", "loss"};
    case events::Phase::Backward:
      return {"backward", "bwd"};
    case events::Phase::OptimizerStep:
      return {"optimizer step", "opt"};
    case events::Phase::None:
      break;
  }
  return {};
}

class PhaseLane final : public EventLane<events::PhaseSpan> {
 public:
  PhaseLane()
      : EventLane({Lane::kPhases, 24, 21, LaneOutline{}, true, tr("Phases"),
                   tr("The phases of a step, in host time")}) {}

  /// Phases of three pixels and more are boxes; the columns of shorter ones are stacks of shares.
  std::function<void()> prepare(const LaneFrame& f, const LaneRow& row) const override {
    const double top = row.top + 3, height = row.height - 7;
    ShareColumns columns(f, QRectF(f.left, top, f.right - f.left, height));
    std::vector<std::pair<QRectF, events::Phase>> boxes;
    f.eachVisible(lane(f.store), [&](const analysis::VisibleSpan& span, double x, double width) {
      if (span.count > 1 || width < 3) {
        columns.merge(span);
        return;
      }
      boxes.emplace_back(QRectF(x, top, width > 3 ? width - 1 : width, height),
                         static_cast<events::Phase>(span.category));
    });
    for (const auto& [box, phase] : boxes) {
      columns.cover(box.left(), box.width());
    }
    std::vector<SharePart> parts;
    std::vector<QRgb> colors;
    columns.eachMerged(lane(f.store), [&](int column, const analysis::ColumnShares& shares) {
      parts.clear();
      colors.clear();
      // The first phase of a step is on top, as one reads; time outside of phases stays empty
      // above.
      for (auto part = shares.parts.rbegin(); part != shares.parts.rend(); ++part) {
        parts.push_back({static_cast<double>(part->ns) / static_cast<double>(shares.columnNs), 0});
        colors.push_back(f.theme.phase(static_cast<events::Phase>(part->category)).rgb());
      }
      columns.fill(column, parts, colors);
    });
    return [&f, columns = std::move(columns), boxes = std::move(boxes)] {
      columns.draw();
      f.painter.setFont(textFont(kSmallText));
      for (const auto& [box, phase] : boxes) {
        drawBox(f, box, phase);
      }
    };
  }

  QString partName(std::uint8_t category) const override {
    return highwater::text(phaseName(static_cast<events::Phase>(category)));
  }
  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    const events::PhaseSpan& phase = events(store)[index];
    return {Glyph::kSquare,
            theme.phase(phase.phase()),
            highwater::text(phaseName(phase.phase())),
            highwater::text(formatDuration(phase.duration_ns())),
            {tr("step %1").arg(phase.step())}};
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    const events::PhaseSpan& phase = events(store)[index];
    return {{tr("Phase"), highwater::text(phaseName(phase.phase()))},
            {tr("Host time"), highwater::text(formatDuration(phase.duration_ns()))},
            {tr("At"), atTime(phase.begin_ns())},
            {tr("Step"), QString::number(phase.step())}};
  }

 protected:
  const std::vector<events::PhaseSpan>& events(const Store& store) const override {
    return store.phases();
  }
  const analysis::SpanIndex& lane(const Store& store) const override { return store.phaseLane(); }

 private:
  static void drawBox(const LaneFrame& f, const QRectF& box, events::Phase phase) {
    f.painter.fillRect(box, f.theme.phase(phase));
    if (box.width() > 19) {
      const bool onDark = phase == events::Phase::Forward || phase == events::Phase::Backward;
      f.painter.setPen(onDark ? QColor(Qt::white) : kOnBright);
      f.painter.drawText(box, Qt::AlignCenter,
                         fitText(f.painter, phaseForms(phase), box.width() - 5));
    }
  }
};

}  // namespace

const LaneKind& phaseLane() {
  static const PhaseLane kLane;
  return kLane;
}

}  // namespace highwater::views
