// The lanes of the device and of named phases: what they draw, name and pick.
#include <QApplication>
#include <QTest>
#include <QToolTip>

#include "analysis/queue_model.h"
#include "support/pane_bench.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::views;
using events::Phase;
using test::kMs;

namespace {

/// Steps of a device that takes `deviceMs` for the work that the host queues in 3 ms.
test::OwnedBatch runOf(int steps, std::int64_t deviceMs, std::int64_t assemblyMs) {
  test::ModelStep step;
  step.assemblyNs = assemblyMs * kMs;
  for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::OptimizerStep}) {
    step.phases.push_back({phase, 10, kMs / 10, deviceMs * kMs / 30});
  }
  test::OwnedBatch batch = test::runOf(step, steps).batch();
  batch.completeUpToNs = batch.steps.back().begin_ns() + batch.steps.back().duration_ns();
  return batch;
}

struct DeviceLaneBench : test::TimelineBench {
  [[nodiscard]] double busyPixels(const QImage& image, int fromX, int toX) const {
    const LaneRow& row = pane.rows().of(Lane::kDevice);
    int busy = 0;
    for (int x = fromX; x < toX; ++x) {
      for (int y = int(row.top) + 10; y < int(row.top) + 24; ++y) {
        busy += image.pixelColor(x, y) == Theme::dark().busy;
      }
    }
    return busy / (14.0 * (toX - fromX));
  }
};

}  // namespace

class TestDeviceLane : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QApplication::setPalette(Theme::dark().palette()); }

  /// As much of the row is solid as the device was busy: 30 of 63 ms, at every zoom.
  void theRowIsAsSolidAsTheDeviceWasBusy() {
    DeviceLaneBench bench;
    bench.apply(runOf(2000, 30, 60));  // the device works in half of it
    for (const int steps : {2000, 300, 12}) {
      const auto& records = bench.store.steps().records;
      bench.axis.setVisible({records[4].begin_ns(), records[std::size_t(steps) - 4].begin_ns()});
      const QImage image = bench.render();
      const QRect plot = bench.pane.plotRect();
      const auto truth = bench.store.deviceTimeline().busyShare(bench.axis.visible().beginNs,
                                                                bench.axis.visible().endNs);
      QVERIFY(truth && *truth > 0.4 && *truth < 0.6);
      const double drawn = bench.busyPixels(image, plot.left(), plot.right() + 1);
      // Off by the hatch of idle time, which is thin, and by the rounding of columns.
      QVERIFY2(std::abs(drawn - *truth) < 0.06,
               qPrintable(QString("%1 steps: %2, not %3").arg(steps).arg(drawn).arg(*truth)));
    }
  }

  void aClickPicksTheDeviceSpanOfAStep() {
    DeviceLaneBench bench;
    bench.apply(runOf(20, 30, 30));
    const auto& records = bench.store.steps().records;
    bench.axis.setVisible({records[5].begin_ns(), records[9].begin_ns()});
    bench.render();
    bench.pane.show();
    QVERIFY(QTest::qWaitForWindowExposed(&bench.pane, test::kWaitMs));
    const TimeRange range = timeRangeOf(bench.store, {Lane::kDevice, 6});
    QVERIFY(range.endNs > records[6].begin_ns() + records[6].duration_ns());  // the queue
    const LaneRow row = bench.pane.rows().of(Lane::kDevice);
    const QPoint at(int(bench.pane.scale().pixelAt((range.beginNs + range.endNs) / 2)),
                    int(row.top) + 12);
    QTest::mouseMove(&bench.pane, at);
    QTRY_VERIFY(QToolTip::isVisible());
    QVERIFY2(QToolTip::text().contains("step 7 on the device"), qPrintable(QToolTip::text()));
    QVERIFY(QToolTip::text().contains("estimate"));
    QTest::mouseClick(&bench.pane, Qt::LeftButton, {}, at);
    QVERIFY(bench.focus.picked() == std::optional(EventRef{Lane::kDevice, 6}));
    QVERIFY(bench.focus.next());
    QVERIFY(bench.focus.picked() == std::optional(EventRef{Lane::kDevice, 7}));
  }

  void aStepThatArrivedLateIsFound() {
    test::OwnedBatch batch;
    std::uint32_t number = 0;
    for (const std::int64_t at : {200, 0, 100, 300}) {
      batch.steps.emplace_back(at * kMs, 50 * kMs, 1, 1, 20 * kMs, ++number, 16, 64, 1024, 0, 0, 0);
    }
    batch.completeUpToNs = 400 * kMs;
    DeviceLaneBench bench;
    bench.apply(batch);
    QCOMPARE(bench.store.deviceTimeline().stepSpans().size(), std::size_t{4});
    for (std::uint32_t row = 0; row < 4; ++row) {
      const EventRef event{Lane::kDevice, row};
      QVERIFY2(exists(bench.store, event), qPrintable(QString::number(row)));
      QCOMPARE(timeRangeOf(bench.store, event).beginNs, batch.steps[row].begin_ns());
    }
    QVERIFY(!exists(bench.store, {Lane::kDevice, 4}));
    bench.focus.pick({Lane::kDevice, 1});
    for (const std::uint32_t next : {2U, 0U, 3U}) {
      QVERIFY(bench.focus.next());
      QVERIFY(bench.focus.picked() == std::optional(EventRef{Lane::kDevice, next}));
    }
  }

  void withoutAQueueTheLaneSaysWhy() {
    DeviceLaneBench bench;
    Hello hello;
    hello.device.selected = "cpu";
    bench.store.apply(hello);
    const QImage before = bench.render();
    bench.apply(runOf(20, 30, 30));
    const QImage image = bench.render();
    const LaneRow row = bench.pane.rows().of(Lane::kDevice);
    int text = 0;
    for (int x = bench.pane.plotRect().left(); x < bench.pane.plotRect().left() + 300; ++x) {
      for (int y = int(row.top) + 2; y < int(row.top + row.height) - 2; ++y) {
        text += image.pixelColor(x, y).lightness() > 90;
      }
    }
    QVERIFY(text > 100);
    QCOMPARE(bench.busyPixels(image, bench.pane.plotRect().left(), image.width()), 0.0);
    QVERIFY(laneKind(Lane::kDevice).label(bench.store, row).note.isEmpty());
  }

  void namedPhasesHaveARowOnceThereAreSome() {
    DeviceLaneBench bench;
    bench.apply(runOf(20, 30, 30));
    const int before = bench.pane.height();
    const auto hasRow = [&] {
      const auto& rows = bench.pane.rows().rows;
      return std::any_of(rows.begin(), rows.end(),
                         [](const LaneRow& row) { return row.lane == Lane::kNamed; });
    };
    QVERIFY(!hasRow());
    bench.store.apply(Definitions{{{100, "evaluation"}, {101, "warm <b>up</b>"}}, {}, {}, {}});
    const auto& records = bench.store.steps().records;
    const std::int64_t beginNs = records[5].begin_ns(), endNs = records[8].begin_ns();
    test::OwnedBatch named;
    named.namedSpans.emplace_back(beginNs, (endNs - beginNs) / 2, 6u, 101u, test::kTrainingThread,
                                  std::uint8_t{0});
    named.namedSpans.emplace_back(endNs, endNs - beginNs, 9u, 100u, test::kTrainingThread,
                                  std::uint8_t{0});
    named.completeUpToNs = bench.store.completeUpToNs();
    bench.apply(named);
    QVERIFY(hasRow());
    QVERIFY(bench.pane.height() > before);
    const QImage image = bench.render();
    const LaneRow row = bench.pane.rows().of(Lane::kNamed);
    bench.pane.show();
    QVERIFY(QTest::qWaitForWindowExposed(&bench.pane, test::kWaitMs));
    const auto middle = [&](std::int64_t ns) {
      return QPoint(int(bench.pane.scale().pixelAt(ns)), int(row.top) + 8);
    };
    QTest::mouseMove(&bench.pane, middle(beginNs + (endNs - beginNs) / 4));
    QTRY_VERIFY(QToolTip::isVisible());
    QVERIFY2(QToolTip::text().contains("warm &lt;b&gt;up") || QToolTip::text().contains("warm <b>"),
             qPrintable(QToolTip::text()));
    QTest::mouseClick(&bench.pane, Qt::LeftButton, {}, middle(endNs + 1000));
    QVERIFY(bench.focus.picked() == std::optional(EventRef{Lane::kNamed, 1}));
    const auto facts = eventFacts(bench.store, *bench.focus.picked());
    QVERIFY(std::any_of(facts.begin(), facts.end(), [](const EventFact& fact) {
      return fact.value == QStringLiteral("held-out data");
    }));
    int drawn = 0;
    for (int x = middle(beginNs).x(); x < middle(beginNs).x() + 3; ++x) {
      drawn += image.pixelColor(x, int(row.top) + 8) == Theme::dark().neutralBar;
    }
    QVERIFY(drawn > 0);
  }

  /// Kinds that lie in one lane differ without colour too.
  void greyscaleTellsBusyFromIdle() {
    DeviceLaneBench bench;
    bench.apply(runOf(20, 30, 30));
    bench.axis.setVisible(
        {bench.store.steps().records[5].begin_ns(), bench.store.steps().records[7].begin_ns()});
    const QImage grey = bench.render().convertToFormat(QImage::Format_Grayscale8);
    const LaneRow row = bench.pane.rows().of(Lane::kDevice);
    const auto& device = bench.store.deviceTimeline();
    const auto meanAt = [&](bool busy) {
      double sum = 0;
      int count = 0;
      for (int x = bench.pane.plotRect().left() + 2; x < bench.pane.plotRect().right() - 2; ++x) {
        const std::int64_t ns = bench.pane.scale().timeAt(x);
        const auto share =
            device.busyShare(ns, ns + static_cast<std::int64_t>(bench.pane.scale().nsPerPixel()));
        if (!share || (busy ? *share < 1 : *share > 0)) continue;
        for (int y = int(row.top) + 11; y < int(row.top) + 23; ++y, ++count) {
          sum += qGray(grey.pixel(x, y));
        }
      }
      return sum / count;
    };
    QVERIFY(meanAt(true) - meanAt(false) > 40);
  }
};

HIGHWATER_TEST(TestDeviceLane, QApplication)
#include "tst_device_lane.moc"
