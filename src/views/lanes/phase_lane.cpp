#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"

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

  void draw(const LaneFrame& f, const LaneRow& row) const override {
    f.painter.setFont(textFont(kSmallText));
    f.eachVisible(lane(f.store), [&](const analysis::VisibleSpan& span, double x, double width) {
      const auto phase = static_cast<events::Phase>(span.category);
      const QColor color = f.theme.phase(phase);
      const QRectF box(x, row.top + 3, width > 3 ? width - 1 : width, row.height - 7);
      f.painter.fillRect(box, span.count == 1 ? color : shaded(color, span.busyShare));
      if (span.count == 1 && width > 20) {
        const bool onDark = phase == events::Phase::Forward || phase == events::Phase::Backward;
        f.painter.setPen(onDark ? QColor(Qt::white) : kOnBright);
        f.painter.drawText(box, Qt::AlignCenter, fitText(f.painter, phaseForms(phase), width - 6));
      }
    });
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
};

}  // namespace

const LaneKind& phaseLane() {
  static const PhaseLane kLane;
  return kLane;
}

}  // namespace highwater::views
