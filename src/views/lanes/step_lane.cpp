#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"

namespace highwater::views {
namespace {

class StepLane final : public EventLane<events::StepRecord> {
 public:
  StepLane()
      : EventLane({Lane::kSteps, 24, 21, LaneOutline{}, false, tr("Steps"), tr("Training steps")}) {
  }

  std::function<void()> prepare(const LaneFrame& f, const LaneRow& row) const override {
    std::vector<QRectF> boxes;
    std::vector<std::pair<QRectF, std::uint32_t>> numbered;
    f.eachVisible(lane(f.store), [&](const analysis::VisibleSpan& span, double x, double width) {
      const QRectF box(x, row.top + 2, std::max(width - 1, 1.0), row.height - 5);
      addOrExtend(boxes, box);
      if (span.count == 1 && width > 12) {
        numbered.emplace_back(box, f.store.steps().records[span.firstPayload].step());
      }
    });
    return [&f, &row, boxes = std::move(boxes), numbered = std::move(numbered)] {
      for (const QRectF& box : boxes) {
        f.painter.fillRect(box, f.theme.stepBox);
      }
      f.painter.setFont(textFont(kSmallText));
      f.painter.setPen(f.theme.text2);
      for (const auto& [box, step] : numbered) {
        f.painter.drawText(box, Qt::AlignCenter,
                           fitText(f.painter, {QString::number(step)}, box.width() - 4));
      }
      drawRunningStep(f, row);
    };
  }

  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    const events::StepRecord& step = events(store)[index];
    EventText t{Glyph::kSquare,
                theme.neutralBar,
                tr("step %1").arg(step.step()),
                highwater::text(formatDuration(step.duration_ns())),
                {}};
    t.details << highwater::text(store.batchText(step))
              << highwater::text(store.rateText(store.steps().tokensPerS[index]));
    if (store.hasMemoryCounters()) {
      t.details << tr("peak %1 (%2)")
                       .arg(highwater::text(formatBytes(step.peak_current_bytes())),
                            step.peak_current_exact() ? tr("exact") : tr("sampled"));
    }
    if (step.loss_read()) {
      t.details << tr("loss %1").arg(double(step.loss()), 0, 'f', 3);
    }
    return t;
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    const events::StepRecord& step = events(store)[index];
    return {{tr("Step"), QString::number(step.step())},
            {tr("Host time"), highwater::text(formatDuration(step.duration_ns()))},
            {tr("At"), atTime(step.begin_ns())},
            {store.ownScript() ? tr("Batch size, guessed") : tr("Batch size"),
             sizeText(step.batch_size())},
            {store.ownScript() ? tr("Sequence length, guessed") : tr("Sequence length"),
             sizeText(step.sequence_length())},
            {tr("Loss"), step.loss_read()    ? QString::number(double(step.loss()), 'f', 3)
                         : store.ownScript() ? tr("not known")
                                             : tr("not read")}};
  }

  static QString sizeText(std::uint32_t size) {
    return size == 0 ? QStringLiteral("–") : QString::number(size);
  }

 protected:
  const std::vector<events::StepRecord>& events(const Store& store) const override {
    return store.steps().records;
  }
  const analysis::SpanIndex& lane(const Store& store) const override { return store.steps().lane; }

 private:
  static void drawRunningStep(const LaneFrame& f, const LaneRow& row) {
    const auto& steps = f.store.steps();
    if (f.store.end() || f.store.runningStep() == 0 || steps.lane.empty() ||
        f.store.runningStep() <= steps.records.back().step()) {
      return;
    }
    const double begin =
        std::max(std::round(f.scale.pixelAt(steps.lane[steps.lane.size() - 1].endNs)) + 1, f.left);
    const double end = std::min(f.scale.pixelAt(f.store.completeUpToNs()), f.right - 1);
    if (end - begin < 4) {
      return;
    }
    const QRectF box(begin, row.top + 2, std::floor(end - begin), row.height - 6);
    QPen pen(f.theme.text3, 1);
    pen.setDashPattern({2, 2});
    f.painter.setPen(pen);
    f.painter.setBrush(Qt::NoBrush);
    f.painter.drawRect(box);
    f.painter.setPen(f.theme.text3);
    f.painter.drawText(
        box, Qt::AlignCenter,
        fitText(f.painter, {QString::number(f.store.runningStep())}, box.width() - 4));
  }
};

}  // namespace

const LaneKind& stepLane() {
  static const StepLane kLane;
  return kLane;
}

}  // namespace highwater::views
