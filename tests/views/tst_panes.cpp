#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>

#include "support/pane_bench.h"
#include "support/test_program.h"
#include "views/panels/details_strip.h"
#include "views/panes/event_focus.h"
#include "views/panes/memory_bands.h"
#include "views/panes/memory_pane.h"
#include "views/panes/overview_pane.h"
#include "views/panes/pane_stack.h"
#include "views/panes/ruler.h"
#include "views/panes/step_panes.h"
#include "views/panes/time_keys.h"
#include "views/panes/timeline_pane.h"
#include "views/theme.h"

using namespace highwater;
using namespace highwater::views;
using analysis::LiveStore;
using test::PaneBench;
using test::render;
using test::TimelineBench;

namespace {

int countIn(const QImage& image, int x, const QColor& color, int top = 0, int bottom = -1) {
  int count = 0;
  for (int y = top; y < (bottom < 0 ? image.height() : bottom); ++y) {
    count += image.pixelColor(x, y) == color;
  }
  return count;
}

int countAll(const QImage& image, const QColor& color) {
  int count = 0;
  for (int x = 0; x < image.width(); ++x) {
    count += countIn(image, x, color);
  }
  return count;
}

}  // namespace

class TestPanes : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QApplication::setPalette(Theme::dark().palette()); }

  void everyPaneDrawsWhatItHas_data() {
    QTest::addColumn<int>("steps");
    QTest::newRow("empty") << 0;
    QTest::newRow("one step") << 1;
    QTest::newRow("sample") << 60;
  }

  void everyPaneDrawsWhatItHas() {
    QFETCH(int, steps);
    PaneBench bench;
    if (steps > 0) {
      bench.feed({.steps = static_cast<std::uint32_t>(steps)});
    }
    PaneStack stack(&bench.store, &bench.axis, &bench.focus);
    for (const bool small : {false, true}) {
      stack.setSmall(small);
      const QImage image = render(stack, {900, 700});
      QCOMPARE(image.size(), QSize(900, 700));
      QCOMPARE(countAll(image, Theme::dark().blue) > 0, steps > 0);
    }
    stack.resize(570, 400);  // smaller than it wants to be
    QApplication::processEvents();
    stack.renderNow();
  }

  /// The line of recommended runs through memory that is far above it.
  void namesOfLimitsStandOnTheirOwnGround() {
    PaneBench bench;
    Hello hello;
    hello.device.selected = "mps";
    hello.limits = {
        .recommendedBytes = 1 << 30, .lowWatermarkRatio = 1.4, .highWatermarkRatio = 1.7};
    bench.store.apply(hello);
    test::OwnedBatch batch;
    for (std::int64_t i = 0; i < 100; ++i) {
      batch.memorySamples.emplace_back(i * 10'000'000, 3ULL << 30, 3ULL << 30, 1ULL << 30,
                                       events::SampleOrigin::Timer);
    }
    batch.completeUpToNs = 1'000'000'000;
    bench.apply(batch);
    bench.axis.setVisible({100'000'000, 900'000'000});  // nothing but the band
    MemoryPane pane(&bench.store, &bench.axis, &bench.focus);
    const QImage image = render(pane, {900, 400});
    const auto& lines = pane.memoryScale().inScale;
    QCOMPARE(lines.size(), std::size_t{3});
    const QRect plot = pane.plotRect();
    // Left of the first letter, in the row of each name, there is ground; beside the name the band.
    int grounds = 0;
    for (int y = plot.top(); y < plot.bottom(); ++y) {
      grounds += image.pixelColor(plot.left() + 6, y) == Theme::dark().plot;
    }
    QVERIFY2(grounds >= 3 * 12, qPrintable(QString::number(grounds)));
    const int middle = plot.left() + plot.width() / 2;
    QVERIFY(countIn(image, middle, Theme::dark().blue, plot.top(), plot.bottom()) >
            plot.height() / 2);
  }

  void stepBarsShowWhatWasLost() {
    PaneBench bench;
    bench.feed({.steps = 24});
    StepTimePane pane(&bench.store, &bench.axis, &bench.focus);
    const QImage image = render(pane, {1000, 96});
    const auto middle = [&](std::size_t step) {
      const TimeRange range = bench.step(step);
      return static_cast<int>(pane.scale().pixelAt((range.beginNs + range.endNs) / 2));
    };
    // Steps are 1-based: the 4th has a fallback, the 7th an unplanned sync, the 5th neither.
    QVERIFY(countIn(image, middle(3), Theme::dark().neutralBar) > 0);
    QCOMPARE(countIn(image, middle(4), Theme::dark().orange, 26), 0);
    QVERIFY(countIn(image, middle(6), Theme::dark().orange, 26) > 0);
    int vermillion = 0;
    for (int dx = -4; dx <= 4; ++dx) {
      vermillion += countIn(image, middle(3) + dx, Theme::dark().vermillion, 26);
    }
    QVERIFY(vermillion > 0);
    // Where waits cost little, they are no lost time.
    pane.setWaitsCostLittle(true);
    const QImage waits = render(pane, {1000, 96});
    QCOMPARE(countIn(waits, middle(6), Theme::dark().orange, 26), 0);
    QVERIFY(countIn(waits, middle(6), Theme::dark().sky, 26) > 0);
  }

  void aLaneWithoutEventsHasNoRow() {
    TimelineBench bench;
    const auto lanes = [&bench] {
      std::vector<Lane> all;
      for (const LaneRow& row : bench.pane.rows().rows) all.push_back(row.lane);
      return all;
    };
    QCOMPARE(lanes(), (std::vector{Lane::kSteps, Lane::kPhases, Lane::kDevice}));
    bench.feed({.steps = 10,
                .doubleBatchAtStep = 0,
                .emptyCacheAtStep = 0,
                .fallbackEvery = 0,
                .evaluateEvery = 0});
    QCOMPARE(lanes(), (std::vector{Lane::kSteps, Lane::kPhases, Lane::kDevice, Lane::kSyncPoints}));
    const int before = bench.pane.height();
    TimelineBench other;
    other.feed({.steps = 40, .evaluateEvery = 0});
    QVERIFY(other.pane.rows().of(Lane::kFallbacks).lane == Lane::kFallbacks);
    QCOMPARE(other.pane.rows().rows.back().lane, Lane::kMarkers);
    QVERIFY(other.pane.height() > before);
  }

  void lanesDrawTheirKinds() {
    PaneBench bench;
    bench.feed({.steps = 24});
    bench.axis.setVisible({bench.step(2).beginNs, bench.step(8).endNs});
    TimelinePane pane(&bench.store, &bench.axis, &bench.focus);
    const QImage image = render(pane, {1200, pane.height()});
    const Theme& theme = Theme::dark();
    const auto inLane = [&](Lane lane, const QColor& color) {
      const auto& row = pane.rows().of(lane);
      int count = 0;
      for (int x = pane.plotRect().left(); x < image.width(); ++x) {
        count += countIn(image, x, color, int(row.top), int(row.top + row.height));
      }
      return count;
    };
    QVERIFY(inLane(Lane::kSteps, theme.stepBox) > 1000);
    QVERIFY(inLane(Lane::kPhases, theme.phase(events::Phase::Forward)) > 500);
    QVERIFY(inLane(Lane::kPhases, theme.phase(events::Phase::Backward)) > 500);
    QVERIFY(inLane(Lane::kSyncPoints, theme.orange) > 20);  // step 7
    QVERIFY(inLane(Lane::kSyncPoints, theme.sky) > 20);     // the planned device moves
    QVERIFY(inLane(Lane::kFallbacks, theme.vermillion) > 20);
    QCOMPARE(inLane(Lane::kFallbacks, theme.blue), 0);
  }

  void clickPicksASpanAndItsOp() {
    PaneBench bench;
    bench.feed({.steps = 24});
    bench.axis.setVisible({bench.step(2).beginNs, bench.step(8).endNs});
    TimelinePane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1200, pane.height()});
    const TimeRange fallback = timeRangeOf(bench.store, {Lane::kFallbacks, 0});
    const auto& row = pane.rows().of(Lane::kFallbacks);
    const QPoint at(int(pane.scale().pixelAt((fallback.beginNs + fallback.endNs) / 2)),
                    int(row.top + row.height / 2));
    QTest::mouseClick(&pane, Qt::LeftButton, {}, at);
    QVERIFY(bench.focus.picked().has_value());
    QCOMPARE(bench.focus.picked()->lane, Lane::kFallbacks);
    QCOMPARE(bench.focus.picked()->index, 0u);
    QVERIFY(bench.focus.op().has_value());
    QCOMPARE(bench.focus.op()->op, QStringLiteral("aten::embedding_renorm_"));
    QCOMPARE(bench.focus.op()->where, QStringLiteral("forward, embedding"));
    QTest::mouseClick(&pane, Qt::LeftButton, {}, QPoint(pane.plotRect().left() + 40, 10));
    QVERIFY(!bench.focus.picked());
  }

  void shiftDragAndMiddleDragPan() {
    PaneBench bench;
    bench.feed({.steps = 60});
    bench.axis.setVisible({bench.step(20).beginNs, bench.step(40).endNs});
    StepTimePane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 96});
    for (const auto& [button, modifiers] :
         {std::pair(Qt::MiddleButton, Qt::KeyboardModifiers()),
          std::pair(Qt::LeftButton, Qt::KeyboardModifiers(Qt::ShiftModifier))}) {
      const std::int64_t under = pane.scale().timeAt(500), length = bench.axis.visibleNs();
      QTest::mousePress(&pane, button, modifiers, {500, 50});
      QTest::mouseMove(&pane, {600, 50});
      QTest::mouseRelease(&pane, button, modifiers, {600, 50});
      QVERIFY(qAbs(pane.scale().pixelAt(under) - 600) < 1);
      QCOMPARE(bench.axis.visibleNs(), length);
      QVERIFY(!bench.axis.selection());
      QVERIFY(bench.axis.cursor().has_value());
    }
  }

  void dragSelectsAndMovesEdges() {
    PaneBench bench;
    bench.feed({.steps = 60});
    TimelinePane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, pane.height()});
    pane.show();
    QVERIFY(QTest::qWaitForWindowExposed(&pane, test::kWaitMs));
    const auto drag = [&](int from, int to) {
      QTest::mousePress(&pane, Qt::LeftButton, {}, {from, 50});
      QTest::mouseMove(&pane, {(from + to) / 2, 50});
      QTest::mouseMove(&pane, {to, 50});
      QTest::mouseRelease(&pane, Qt::LeftButton, {}, {to, 50});
    };
    const auto isSelected = [&](double from, double to) {
      const auto& range = bench.axis.selection();
      return range && qAbs(pane.scale().pixelAt(range->beginNs) - from) <= 1 &&
             qAbs(pane.scale().pixelAt(range->endNs) - to) <= 1;
    };
    const TimeRange visible = bench.axis.visible();
    drag(500, 300);
    QVERIFY(isSelected(300, 500));
    QCOMPARE(bench.axis.visible().beginNs, visible.beginNs);
    QVERIFY(!bench.focus.picked());
    QTest::mouseMove(&pane, {502, 50});  // the mouse shows what a press would do
    QTRY_COMPARE(pane.cursor().shape(), Qt::SizeHorCursor);
    QTest::mouseMove(&pane, {450, 50});
    QTRY_COMPARE(pane.cursor().shape(), Qt::ArrowCursor);
    drag(502, 620);
    QVERIFY(isSelected(300, 620));
    drag(299, 700);  // beyond the other edge
    QVERIFY(isSelected(620, 700));
    drag(400, 2000);  // off the pane: as far as the data is shown
    QVERIFY(isSelected(400, pane.plotRect().right() + 1));
    bench.axis.clearSelection();
    QTest::mouseDClick(&pane, Qt::LeftButton, {}, {400, 10});
    QVERIFY(bench.axis.selection().has_value());
    const auto step = timeRangeOf(bench.store, {Lane::kSteps, 0});
    QVERIFY(bench.axis.selection()->endNs - bench.axis.selection()->beginNs <
            5 * (step.endNs - step.beginNs));
  }

  void aDoubleClickSelectsAStepButNotTheGapAfterIt() {
    PaneBench bench;
    test::OwnedBatch batch;
    constexpr std::int64_t kLength = 100'000'000;
    for (std::uint32_t step = 1; step <= 4; ++step) {  // as long as the gaps after them
      batch.steps.emplace_back((step - 1) * 2 * kLength, kLength, 1ULL << 30, 1ULL << 30, -1, step,
                               16U, 64U, 1024U, 0.5F, std::uint8_t{0}, std::uint8_t{0});
    }
    batch.completeUpToNs = 8 * kLength;
    bench.store.apply(batch.view());
    StepTimePane pane(&bench.store, &bench.axis, &bench.focus);
    bench.axis.setExtent({0, 8 * kLength});
    bench.axis.fit();
    render(pane, {1000, 96});
    const auto at = [&](std::int64_t ns) {
      return QPoint(static_cast<int>(pane.scale().pixelAt(ns)), 50);
    };
    QTest::mouseDClick(&pane, Qt::LeftButton, {}, at(2 * kLength + kLength / 2));
    QVERIFY(bench.axis.selection().has_value());
    QCOMPARE(bench.axis.selection()->beginNs, 2 * kLength);
    QCOMPARE(bench.axis.selection()->endNs, 3 * kLength);
    bench.axis.clearSelection();
    QTest::mouseDClick(&pane, Qt::LeftButton, {}, at(3 * kLength + kLength / 2));
    QVERIFY(!bench.axis.selection());
  }

  void rulerDragSelectsAndMovesHandles() {
    PaneBench bench;
    bench.feed({.steps = 60});
    Ruler ruler(&bench.store, &bench.axis, &bench.focus);
    render(ruler, {1000, ruler.height()});
    const auto drag = [&](int from, int to) {
      QTest::mousePress(&ruler, Qt::LeftButton, {}, {from, 12});
      QTest::mouseMove(&ruler, {to, 12});
      QTest::mouseRelease(&ruler, Qt::LeftButton, {}, {to, 12});
    };
    drag(300, 500);
    QVERIFY(bench.axis.selection().has_value());
    const std::int64_t end = bench.axis.selection()->endNs;
    const std::int64_t begin = bench.axis.selection()->beginNs;
    drag(300, 400);  // its left handle
    QCOMPARE(bench.axis.selection()->endNs, end);
    QVERIFY(bench.axis.selection()->beginNs > begin);
    QTest::mouseClick(&ruler, Qt::LeftButton, {}, {800, 12});
    QVERIFY(!bench.axis.selection());
  }

  void overviewWindowPans() {
    PaneBench bench;
    bench.feed({.steps = 200});
    bench.axis.setVisible({0, bench.axis.extent().endNs / 4});
    OverviewPane overview(&bench.store, &bench.axis, &bench.focus);
    render(overview, {1000, overview.height()});
    const std::int64_t length = bench.axis.visibleNs();
    QTest::mousePress(&overview, Qt::LeftButton, {}, {200, 20});
    QTest::mouseMove(&overview, {500, 20});
    QTest::mouseRelease(&overview, Qt::LeftButton, {}, {500, 20});
    QCOMPARE(bench.axis.visibleNs(), length);
    QVERIFY(bench.axis.visible().beginNs > bench.axis.extent().endNs / 8);
  }

  void keysMoveTheAxis() {
    PaneBench bench;
    bench.feed({.steps = 60});
    const auto press = [&](Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
      const QKeyEvent event(QEvent::KeyPress, key, modifiers);
      return handleTimeKey(event, bench.axis, bench.focus);
    };
    bench.axis.setVisible({bench.step(10).beginNs, bench.step(30).endNs});
    const TimeRange start = bench.axis.visible();
    QVERIFY(press(Qt::Key_W));
    QVERIFY(bench.axis.visibleNs() < start.endNs - start.beginNs);
    QVERIFY(press(Qt::Key_S));
    const std::int64_t begin = bench.axis.visible().beginNs;
    QVERIFY(press(Qt::Key_D));
    QVERIFY(bench.axis.visible().beginNs > begin);
    QVERIFY(press(Qt::Key_A));
    QVERIFY(press(Qt::Key_Space));
    QVERIFY(bench.axis.follows());
    QVERIFY(press(Qt::Key_Space));
    QVERIFY(!bench.axis.follows());
    QVERIFY(press(Qt::Key_F));
    QCOMPARE(bench.axis.visible().beginNs, 0);
    QVERIFY(press(Qt::Key_Period));
    QVERIFY(bench.focus.picked().has_value());
    bench.axis.select(0, 1'000'000'000);
    QVERIFY(press(Qt::Key_Escape));
    QVERIFY(!bench.axis.selection() && !bench.focus.picked());
    QVERIFY(!press(Qt::Key_F, Qt::ControlModifier));
    QVERIFY(!press(Qt::Key_X));
  }

  void hoverTellsTheValue_data() {
    QTest::addColumn<QString>("pane");
    QTest::addColumn<QString>("wanted");
    QTest::newRow("memory") << "memoryPane"
                            << "live ";
    QTest::newRow("step time") << "stepTimePane"
                               << "step 12: ";
    QTest::newRow("throughput") << "throughputPane"
                                << "tokens/s";
    QTest::newRow("timeline") << "timelinePane"
                              << "step 12: ";
  }

  /// The tooltip is there with the mouse, not after a rest.
  void hoverTellsTheValue() {
    QFETCH(QString, pane);
    QFETCH(QString, wanted);
    PaneBench bench;
    bench.feed({.steps = 24});
    bench.axis.setVisible({bench.step(9).beginNs, bench.step(14).endNs});
    PaneStack stack(&bench.store, &bench.axis, &bench.focus);
    stack.resize(1000, 800);
    stack.show();
    QVERIFY(QTest::qWaitForWindowExposed(&stack, test::kWaitMs));
    auto* shown = stack.findChild<TimePane*>(pane);
    QVERIFY(shown);
    const TimeRange step = bench.step(11);
    const int x = static_cast<int>(shown->scale().pixelAt((step.beginNs + step.endNs) / 2));
    const int y =
        pane == "timelinePane"
            ? static_cast<int>(static_cast<TimelinePane*>(shown)->rows().of(Lane::kSteps).top) + 8
            : shown->height() - 20;
    QTest::mouseMove(shown, {x, y});
    QTRY_VERIFY(QToolTip::text().contains(wanted));
  }

  void themeFollowsThePalette() {
    PaneBench bench;
    bench.feed({.steps = 10});
    MemoryPane pane(&bench.store, &bench.axis, &bench.focus);
    QVERIFY(countAll(render(pane, {600, 240}), Theme::dark().plot) > 1000);
    QApplication::setPalette(Theme::light().palette());
    const QImage light = render(pane, {600, 240});
    QVERIFY(countAll(light, Theme::light().plot) > 1000);
    QVERIFY(countAll(light, Theme::light().blue) > 1000);
    QApplication::setPalette(Theme::dark().palette());
  }
};

HIGHWATER_TEST(TestPanes, QApplication)
#include "tst_panes.moc"
