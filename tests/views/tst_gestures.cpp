// The wheel, and what fingers do on a trackpad.
#include <QApplication>
#include <QTest>

#include "support/pane_bench.h"
#include "support/test_program.h"
#include "views/panes/memory_pane.h"
#include "views/panes/overview_pane.h"
#include "views/panes/timeline_pane.h"

using namespace highwater;
using namespace highwater::views;
using test::PaneBench;
using test::render;

namespace {

struct Wheel {
  QPoint angle = {}, pixels = {};
  Qt::KeyboardModifiers modifiers = {};
  Qt::ScrollPhase phase = Qt::NoScrollPhase;
};

/// Turns the wheel, or moves two fingers on a trackpad, with the mouse at 500, 20.
void turnWheel(QWidget& pane, const Wheel& wheel) {
  const QPointF at(500, 20);
  const QPoint angle = wheel.angle.isNull() ? wheel.pixels * 2 : wheel.angle;
  QWheelEvent event(at, pane.mapToGlobal(at), wheel.pixels, angle, Qt::NoButton, wheel.modifiers,
                    wheel.phase, false);
  QApplication::sendEvent(&pane, &event);
}

/// Makes a gesture of two fingers with the mouse at `x`.
void gesture(QWidget& pane, Qt::NativeGestureType type, double value, double x = 500) {
  const QPointF at(x, 20);
  QNativeGestureEvent event(type, QPointingDevice::primaryPointingDevice(), 2, at, at,
                            pane.mapToGlobal(at), value, {});
  QApplication::sendEvent(&pane, &event);
}

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

class TestGestures : public QObject {
  Q_OBJECT

 private slots:
  void wheelZooms() {
    PaneBench bench;
    bench.feed({.steps = 60});
    MemoryPane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 300});
    const std::int64_t before = bench.axis.visibleNs();
    const std::int64_t under = pane.scale().timeAt(500);
    turnWheel(pane, {.angle = {0, 120}});
    QVERIFY(bench.axis.visibleNs() < before);
    QVERIFY(qAbs(pane.scale().pixelAt(under) - 500) < 1);
    const TimeRange zoomed = bench.axis.visible();
    turnWheel(pane, {.angle = {-120, 0}});  // a horizontal wheel, to the right
    QVERIFY(bench.axis.visible().beginNs > zoomed.beginNs);
    turnWheel(pane, {.angle = {0, 120}, .modifiers = Qt::ShiftModifier});
    QVERIFY(qAbs(bench.axis.visible().beginNs - zoomed.beginNs) < 1000);
    QCOMPARE(bench.axis.visibleNs(), zoomed.endNs - zoomed.beginNs);
  }

  void twoFingersPanAndZoom() {
    PaneBench bench;
    bench.feed({.steps = 60});
    bench.axis.setVisible({bench.step(20).beginNs, bench.step(40).endNs});
    TimelinePane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, pane.height()});
    const TimeRange start = bench.axis.visible();
    const std::int64_t under = pane.scale().timeAt(500);
    turnWheel(pane, {.pixels = {-1, 0}, .phase = Qt::ScrollBegin});
    turnWheel(pane, {.pixels = {-99, 30}, .phase = Qt::ScrollUpdate});
    QCOMPARE(bench.axis.visibleNs(), start.endNs - start.beginNs);
    QVERIFY(qAbs(pane.scale().pixelAt(under) - 400) < 1);  // content moves with the fingers
    // The gesture keeps its direction, also where the fingers stray.
    turnWheel(pane, {.pixels = {-5, 20}, .phase = Qt::ScrollUpdate});
    QCOMPARE(bench.axis.visibleNs(), start.endNs - start.beginNs);
    turnWheel(pane, {.pixels = {-40, 0}, .phase = Qt::ScrollMomentum});
    QVERIFY(qAbs(pane.scale().pixelAt(under) - 355) < 1);  // momentum pans on
    turnWheel(pane, {.phase = Qt::ScrollEnd});

    turnWheel(pane, {.pixels = {0, 10}, .phase = Qt::ScrollBegin});
    turnWheel(pane, {.pixels = {0, 50}, .phase = Qt::ScrollUpdate});
    const std::int64_t zoomed = bench.axis.visibleNs();
    QVERIFY(qAbs(static_cast<double>(zoomed) / static_cast<double>(start.endNs - start.beginNs) -
                 0.8) < 0.01);
    const TimeRange left = bench.axis.visible();
    turnWheel(pane, {.pixels = {0, 200}, .phase = Qt::ScrollMomentum});
    turnWheel(pane, {.pixels = {8, 90}, .phase = Qt::ScrollMomentum});
    QCOMPARE(bench.axis.visibleNs(), zoomed);  // but zooms no further
    QCOMPARE(bench.axis.visible().beginNs, left.beginNs);

    turnWheel(pane,
              {.pixels = {60, 0}, .modifiers = Qt::ControlModifier, .phase = Qt::ScrollBegin});
    QVERIFY(bench.axis.visibleNs() < zoomed);
  }

  void pinchZooms() {
    PaneBench bench;
    bench.feed({.steps = 60});
    MemoryPane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 300});
    const std::int64_t before = bench.axis.visibleNs(), under = pane.scale().timeAt(500);
    gesture(pane, Qt::BeginNativeGesture, 0);
    gesture(pane, Qt::ZoomNativeGesture, 0.25);
    gesture(pane, Qt::EndNativeGesture, 0);
    QVERIFY(qAbs(ratio(bench.axis.visibleNs(), before) - 0.8) < 0.01);
    QVERIFY(qAbs(pane.scale().pixelAt(under) - 500) < 1);
  }

  void aPinchIsBounded_data() {
    QTest::addColumn<double>("value");
    for (const double value : {-1.0, -3.0, -0.999, 50.0}) {
      QTest::addRow("%g", value) << value;
    }
  }

  /// 1 + value is what the fingers multiplied: 0 and less would be no range.
  void aPinchIsBounded() {
    QFETCH(double, value);
    PaneBench bench;
    bench.feed({.steps = 60});
    bench.axis.setVisible({bench.step(20).beginNs, bench.step(40).endNs});
    MemoryPane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 300});
    const std::int64_t before = bench.axis.visibleNs();
    gesture(pane, Qt::ZoomNativeGesture, value);
    QCOMPARE(bench.axis.visibleNs() < before, value > 0);
    QVERIFY(bench.axis.visible().beginNs < bench.axis.visible().endNs);
    QVERIFY(ratio(bench.axis.visibleNs(), before) > 0.2 &&
            ratio(bench.axis.visibleNs(), before) < 5);
  }

  void nothingMovesOnAfterAPinch() {
    PaneBench bench;
    bench.feed({.steps = 60});
    bench.axis.setVisible({bench.step(20).beginNs, bench.step(40).endNs});
    TimelinePane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, pane.height()});
    turnWheel(pane, {.pixels = {-10, 0}, .phase = Qt::ScrollBegin});  // the fingers come down
    gesture(pane, Qt::ZoomNativeGesture, 0.1);
    const TimeRange left = bench.axis.visible();
    turnWheel(pane, {.pixels = {-40, 0}, .phase = Qt::ScrollMomentum});
    turnWheel(pane, {.pixels = {0, 80}, .phase = Qt::ScrollMomentum});
    turnWheel(pane, {.phase = Qt::ScrollEnd});
    QCOMPARE(bench.axis.visible().beginNs, left.beginNs);
    QCOMPARE(bench.axis.visible().endNs, left.endNs);
    turnWheel(pane, {.pixels = {-40, 0}, .phase = Qt::ScrollBegin});  // a new gesture
    QVERIFY(bench.axis.visible().beginNs > left.beginNs);
    const TimeRange panned = bench.axis.visible();
    gesture(pane, Qt::ZoomNativeGesture, 0.1);
    turnWheel(pane, {.angle = {0, 120}});  // a mouse has no phases
    QVERIFY(bench.axis.visibleNs() < (panned.endNs - panned.beginNs) * 8 / 10);
  }

  void aPinchZoomsTheOverviewsWindow() {
    PaneBench bench;
    bench.feed({.steps = 60});
    bench.axis.setVisible({bench.step(20).beginNs, bench.step(40).endNs});
    OverviewPane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 40});
    const TimeRange before = bench.axis.visible();
    gesture(pane, Qt::ZoomNativeGesture, 0.25, 900);  // far from the window
    const TimeRange now = bench.axis.visible();
    QVERIFY(qAbs(ratio(now.endNs - now.beginNs, before.endNs - before.beginNs) - 0.8) < 0.01);
    QVERIFY(qAbs((now.beginNs + now.endNs) - (before.beginNs + before.endNs)) < 1000);
  }

  void aDoubleTapShowsAStepAndTheRunAgain() {
    PaneBench bench;
    bench.feed({.steps = 60});
    MemoryPane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 300});
    const TimeRange all = bench.axis.visible(), step = bench.step(30);
    const double x = pane.scale().pixelAt((step.beginNs + step.endNs) / 2);
    gesture(pane, Qt::SmartZoomNativeGesture, 1, x);
    const TimeRange shown = bench.axis.visible();
    QVERIFY(shown.beginNs <= step.beginNs && shown.endNs >= step.endNs);
    QVERIFY(shown.endNs - shown.beginNs <= 2 * (step.endNs - step.beginNs));
    const double middle = pane.scale().pixelAt((step.beginNs + step.endNs) / 2);
    gesture(pane, Qt::SmartZoomNativeGesture, 0, middle);
    QCOMPARE(bench.axis.visible().beginNs, all.beginNs);
    QCOMPARE(bench.axis.visible().endNs, all.endNs);
  }

  /// After the last step, and between two: as during an evaluation.
  void aDoubleTapBesideAStepShowsTheRun() {
    PaneBench bench;
    bench.feed({.steps = 60});
    MemoryPane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 300});
    const TimeRange all = bench.axis.visible();
    const auto tapAt = [&](std::int64_t ns) {
      gesture(pane, Qt::SmartZoomNativeGesture, 1, pane.scale().pixelAt(ns));
      QCOMPARE(bench.axis.visible().beginNs, all.beginNs);
      QCOMPARE(bench.axis.visible().endNs, all.endNs);
    };
    const std::int64_t lastEndNs = bench.step(59).endNs;
    bench.axis.setVisible({bench.step(40).beginNs, lastEndNs + (lastEndNs - all.beginNs) / 10});
    tapAt(lastEndNs + (lastEndNs - all.beginNs) / 20);
    const std::int64_t gapBeginNs = bench.step(30).endNs, gapEndNs = bench.step(31).beginNs;
    QVERIFY(gapBeginNs < gapEndNs);
    bench.axis.setVisible({gapBeginNs - 2'000'000, gapEndNs + 2'000'000});
    tapAt((gapBeginNs + gapEndNs) / 2);
  }
};

HIGHWATER_TEST(TestGestures, QApplication)
#include "tst_gestures.moc"
