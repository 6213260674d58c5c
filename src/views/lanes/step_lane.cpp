#include <QFontMetrics>
#include <algorithm>
#include <utility>
#include <vector>

#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"

namespace highwater::views {
namespace {

constexpr double kNumberGap = 6;    ///< least pixels between the numbers of two steps
constexpr double kLeastPitch = 12;  ///< pixels: no two numbers can be nearer

class StepLane final : public EventLane<events::StepRecord> {
 public:
  StepLane()
      : EventLane({Lane::kSteps, 24, 21, LaneOutline{}, false, tr("Steps"), tr("Training steps")}) {
  }

  std::function<void()> prepare(const LaneFrame& f, const LaneRow& row) const override {
    std::vector<QRectF> boxes;
    f.eachVisible(lane(f.store), [&](const analysis::VisibleSpan&, double x, double width) {
      addOrExtend(boxes, QRectF(x, row.top + 2, std::max(width - 1, 1.0), row.height - 5));
    });
    return [&f, &row, boxes = std::move(boxes)] {
      for (const QRectF& box : boxes) {
        f.painter.fillRect(box, f.theme.stepBox);
      }
      f.painter.setFont(textFont(kSmallText));
      drawNumbers(f, row);
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
      t.details << tr("peak %1").arg(highwater::text(formatBytes(step.peak_current_bytes())));
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
  struct Number {
    QRectF box;
    QString text;
  };

  /// The numbers of every `stride`th step in view that have room beside the one before, and how
  /// many have none.
  static std::pair<std::vector<Number>, std::size_t> numbersOf(const LaneFrame& f,
                                                               const LaneRow& row,
                                                               std::uint32_t stride) {
    const auto& records = f.store.steps().records;
    const QFontMetrics metrics = f.painter.fontMetrics();
    std::vector<Number> numbers;
    std::size_t without = 0;
    double free = f.left;
    auto at = std::partition_point(records.begin(), records.end(), [&](const auto& step) {
      return step.begin_ns() + step.duration_ns() <= f.scale.range.beginNs;
    });
    while (at != records.end() && at->begin_ns() < f.scale.range.endNs) {
      if (at->step() % stride != 0) {
        // Of 64 bits, because the next number may be above the largest that a step can have.
        const std::uint64_t next = (std::uint64_t{at->step()} / stride + 1) * stride;
        at = std::lower_bound(at, records.end(), next,
                              [](const auto& step, std::uint64_t n) { return step.step() < n; });
        continue;
      }
      const double left = std::max(f.scale.pixelAt(at->begin_ns()), f.left);
      const double right =
          std::min(f.scale.pixelAt(at->begin_ns() + at->duration_ns()), f.right) - 1;
      const QString text = QString::number(at->step());
      const double width = metrics.horizontalAdvance(text);
      const double x = std::round((left + right - width) / 2);
      // The running step, which has a box and a number of its own, follows the last one.
      const bool isLast = at + 1 == records.end();
      if (x >= free && x + width <= (isLast ? right : f.right)) {
        numbers.push_back({QRectF(x, row.top + 2, width, row.height - 5), text});
        free = x + width + kNumberGap;
      } else {
        ++without;
      }
      ++at;
    }
    return {std::move(numbers), without};
  }

  /// Numbers each step in view, or every second, fifth, tenth … where that is too dense.
  static void drawNumbers(const LaneFrame& f, const LaneRow& row) {
    const auto& steps = f.store.steps();
    if (steps.records.empty()) return;
    const double most = (f.right - f.left) / kLeastPitch;
    const auto first = steps.lane.firstFrom(f.scale.range.beginNs);
    const auto last = steps.lane.firstFrom(f.scale.range.endNs);
    const auto visible = static_cast<double>(last - first);
    constexpr std::uint32_t kFactors[] = {1, 2, 5};
    for (std::uint32_t ten = 1; ten <= 100'000'000; ten *= 10) {
      for (const std::uint32_t factor : kFactors) {
        const std::uint32_t stride = factor * ten;
        if (visible / stride > most) continue;
        const auto [numbers, without] = numbersOf(f, row, stride);
        // Some short steps among long ones do not make all numbers rare.
        if (without * 5 > numbers.size()) continue;
        f.painter.setPen(f.theme.text2);
        for (const Number& number : numbers) {
          f.painter.drawText(number.box, Qt::AlignCenter, number.text);
        }
        return;
      }
    }
  }

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
