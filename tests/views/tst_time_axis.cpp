#include <QSignalSpy>
#include <QTest>

#include "support/test_program.h"
#include "views/panes/memory_scale.h"
#include "views/panes/step_panes.h"
#include "views/panes/time_axis.h"

using namespace highwater::views;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kGi = 1024.0 * 1024 * 1024;

}  // namespace

class TestTimeAxis : public QObject {
  Q_OBJECT

 private slots:
  void mapsTimesAndPixels() {
    const TimeScale scale{{10 * kSecond, 20 * kSecond}, 112, 1000};
    QCOMPARE(scale.nsPerPixel(), 1e7);
    QCOMPARE(scale.pixelAt(10 * kSecond), 112.0);
    QCOMPARE(scale.pixelAt(15 * kSecond), 612.0);
    QCOMPARE(scale.timeAt(612), 15 * kSecond);
    for (int pixel = 112; pixel < 1112; pixel += 37) {
      QVERIFY(qAbs(scale.pixelAt(scale.timeAt(pixel)) - pixel) < 1e-6);
    }
  }

  void anEmptyRunShowsSeconds() {
    TimeAxis axis;
    axis.fit();
    QCOMPARE(axis.visible().endNs, TimeAxis::kDefaultNs);
  }

  void ticksAreRoundAndFarEnoughApart_data() {
    QTest::addColumn<qint64>("spanNs");
    QTest::addColumn<qint64>("majorNs");
    QTest::addColumn<int>("decimals");
    QTest::newRow("4 s") << qint64(4 * kSecond) << qint64(kSecond / 2) << 1;
    QTest::newRow("50 ms") << qint64(kSecond / 20) << qint64(kSecond / 200) << 3;
    QTest::newRow("9 s") << qint64(9 * kSecond) << qint64(kSecond) << 0;
    QTest::newRow("40 s") << qint64(40 * kSecond) << qint64(5 * kSecond) << 0;
    QTest::newRow("2 min") << qint64(120 * kSecond) << qint64(15 * kSecond) << 0;
    QTest::newRow("10 h") << qint64(36'000 * kSecond) << qint64(3600 * kSecond) << 0;
  }

  void ticksAreRoundAndFarEnoughApart() {
    QFETCH(qint64, spanNs);
    QFETCH(qint64, majorNs);
    QFETCH(int, decimals);
    const TimeScale scale{{0, spanNs}, 0, 900};
    const TimeTicks ticks = timeTicks(scale, 90);
    QCOMPARE(ticks.majorNs, majorNs);
    QCOMPARE(ticks.decimals, decimals);
    QVERIFY(static_cast<double>(ticks.majorNs) / scale.nsPerPixel() >= 90);
    QCOMPARE(ticks.majorNs % ticks.minorNs, 0);
  }

  void whatFollowsShowsSeveralSteps() {
    TimeAxis axis;
    axis.setExtent({0, 100 * kSecond}, kSecond / 10);
    QCOMPARE(axis.visibleNs(), TimeAxis::kDefaultNs);
    axis.setExtent({0, 200 * kSecond}, 2 * kSecond);
    QCOMPARE(axis.visibleNs(), 4 * TimeAxis::kDefaultNs);
    axis.setExtent({0, 201 * kSecond}, kSecond);
    QCOMPARE(axis.visibleNs(), 2 * TimeAxis::kDefaultNs);
    axis.zoom(0.25, 0);
    const std::int64_t chosen = axis.visibleNs();
    axis.setExtent({0, 210 * kSecond}, 3 * kSecond);
    QCOMPARE(axis.visibleNs(), chosen);
    axis.endFollowing();
    QVERIFY(axis.follows());
    QCOMPARE(axis.visibleNs(), chosen);
    axis.reset();
    axis.setExtent({0, 60 * kSecond}, 3 * kSecond);
    QVERIFY(axis.visibleNs() >= TimeAxis::kFollowedSteps * 3 * kSecond);
    axis.endFollowing();
    QVERIFY(!axis.follows() && axis.visible().beginNs == 0);
    QVERIFY(axis.visible().endNs > 60 * kSecond);
  }

  void anEndedRunIsShownFromItsFirstEventOn() {
    TimeAxis axis;
    axis.setExtent({0, 60 * kSecond});
    axis.fit(20 * kSecond);
    QCOMPARE(axis.visible().beginNs, 18 * kSecond);
    QVERIFY(axis.visible().endNs > 60 * kSecond);
    axis.fit(kSecond);  // too little is left out
    QCOMPARE(axis.visible().beginNs, 0);
    axis.fit();
    QCOMPARE(axis.visible().beginNs, 0);
    axis.fit(70 * kSecond);  // an event that is not complete yet
    QCOMPARE(axis.visible().beginNs, 60 * kSecond);
    QVERIFY(axis.visible().endNs > 60 * kSecond);
  }

  void followsTheNewest() {
    TimeAxis axis;
    QVERIFY(axis.follows());
    axis.setExtent({0, 3 * kSecond});
    QCOMPARE(axis.visible().beginNs, 0);  // a short run begins at the left edge
    axis.setExtent({0, 60 * kSecond});
    QCOMPARE(axis.visibleNs(), TimeAxis::kDefaultNs);
    QVERIFY(axis.visible().endNs > 60 * kSecond);
    QVERIFY(axis.visible().endNs < 61 * kSecond);
    QSignalSpy moved(&axis, &TimeAxis::visibleChanged);
    axis.setExtent({0, 61 * kSecond});
    QCOMPARE(moved.count(), 1);
  }

  void aPauseHoldsTheView() {
    TimeAxis axis;
    axis.setExtent({0, 20 * kSecond});
    const TimeRange before = axis.visible();
    axis.setHeld(true);
    axis.setExtent({0, 60 * kSecond});
    QVERIFY(axis.follows());
    QCOMPARE(axis.visible().endNs, before.endNs);
    // What happens during the pause comes into view all the same.
    axis.bringIn(10 * kSecond);
    QCOMPARE(axis.visible().endNs, before.endNs);
    axis.bringIn(59 * kSecond);
    QVERIFY(axis.visible().endNs >= 60 * kSecond);
    QVERIFY(axis.follows());
    axis.setHeld(false);
    axis.setExtent({0, 61 * kSecond});
    QVERIFY(axis.visible().endNs >= 61 * kSecond);
    axis.setHeld(true);
    axis.reset();
    axis.setExtent({0, 30 * kSecond});  // of another run
    QVERIFY(axis.visible().endNs >= 30 * kSecond);
  }

  void zoomToLeavesRoom() {
    TimeAxis axis;
    axis.setExtent({0, 60 * kSecond});
    axis.zoomTo({20 * kSecond, 28 * kSecond});
    QVERIFY(!axis.follows());
    QCOMPARE(axis.visible().beginNs, 19 * kSecond);
    QCOMPARE(axis.visible().endNs, 29 * kSecond);
  }

  void panningStopsFollowing() {
    TimeAxis axis;
    axis.setExtent({0, 60 * kSecond});
    QSignalSpy follows(&axis, &TimeAxis::followsChanged);
    axis.pan(-5 * kSecond);
    QVERIFY(!axis.follows());
    QCOMPARE(follows.count(), 1);
    const TimeRange before = axis.visible();
    axis.setExtent({0, 70 * kSecond});
    QCOMPARE(axis.visible().beginNs, before.beginNs);
    axis.setFollows(true);
    QVERIFY(axis.visible().endNs > 70 * kSecond);
  }

  void zoomKeepsWhatIsUnderTheCursor() {
    TimeAxis axis;
    axis.setExtent({0, 60 * kSecond});
    axis.setVisible({20 * kSecond, 40 * kSecond});
    const std::int64_t at = 25 * kSecond;
    const TimeScale before{axis.visible(), 0, 1000};
    axis.zoom(0.5, at);
    const TimeScale after{axis.visible(), 0, 1000};
    QCOMPARE(axis.visibleNs(), 10 * kSecond);
    QVERIFY(qAbs(before.pixelAt(at) - after.pixelAt(at)) < 0.01);
    axis.setFollows(true);
    axis.zoom(0.5, at);  // while following, the right edge keeps its place
    QVERIFY(axis.follows());
    QVERIFY(axis.visible().endNs >= 60 * kSecond);
  }

  void zoomEndsAtItsLimits() {
    TimeAxis axis;
    axis.setExtent({0, 60 * kSecond});
    axis.setVisible({20 * kSecond, 40 * kSecond});
    for (int i = 0; i < 200; ++i) {
      axis.zoom(0.5, 30 * kSecond);
    }
    QCOMPARE(axis.visibleNs(), TimeAxis::kShortestNs);
    for (int i = 0; i < 200; ++i) {
      axis.zoom(2, 30 * kSecond);
    }
    QVERIFY(axis.visibleNs() >= 60 * kSecond);
    QVERIFY(axis.visibleNs() <= 70 * kSecond);
  }

  void nobodyGetsLostBesideTheRun() {
    TimeAxis axis;
    axis.setExtent({0, 60 * kSecond});
    axis.setVisible({0, 10 * kSecond});
    axis.pan(-1000 * kSecond);
    QVERIFY(axis.visible().endNs > 0);
    axis.pan(100'000 * kSecond);
    QVERIFY(axis.visible().beginNs < 60 * kSecond);
    axis.fit();
    QCOMPARE(axis.visible().beginNs, 0);
    QVERIFY(axis.visible().endNs >= 60 * kSecond);
  }

  void selectionTakesEndsInAnyOrder() {
    TimeAxis axis;
    QSignalSpy changed(&axis, &TimeAxis::selectionChanged);
    axis.select(5 * kSecond, 2 * kSecond);
    QVERIFY(axis.selection().has_value());
    QCOMPARE(axis.selection()->beginNs, 2 * kSecond);
    QCOMPARE(axis.selection()->endNs, 5 * kSecond);
    axis.select(kSecond, kSecond);
    QVERIFY(!axis.selection());
    QCOMPARE(changed.count(), 2);
  }

  void revealScrollsButDoesNotZoom() {
    TimeAxis axis;
    axis.setExtent({0, 60 * kSecond});
    axis.setVisible({0, 10 * kSecond});
    axis.reveal({40 * kSecond, 41 * kSecond});
    QCOMPARE(axis.visibleNs(), 10 * kSecond);
    QVERIFY(axis.visible().beginNs <= 40 * kSecond && axis.visible().endNs >= 41 * kSecond);
    const TimeRange before = axis.visible();
    axis.reveal({40 * kSecond, 41 * kSecond});
    QCOMPARE(axis.visible().beginNs, before.beginNs);
  }

  void limitsFarAboveTheDataStandOnTheShelf() {
    const std::vector<MemoryLimitLine> limits = {{LimitKind::kRecommended, 8 * kGi, 1},
                                                 {LimitKind::kLowWatermark, 11.2 * kGi, 1.4},
                                                 {LimitKind::kHighWatermark, 13.6 * kGi, 1.7}};
    const MemoryScale low = makeMemoryScale(0.5 * kGi, limits, 5);
    QVERIFY(low.inScale.empty());
    QCOMPARE(low.shelf.size(), std::size_t{1});  // no watermark above it: that is far away
    QCOMPARE(low.shelf.front().kind, LimitKind::kRecommended);
    QVERIFY(low.topBytes < kGi);
    QCOMPARE(low.unit, QStringLiteral("MiB"));

    const MemoryScale middle = makeMemoryScale(5.5 * kGi, limits, 5);
    QCOMPARE(middle.inScale.size(), std::size_t{1});
    QCOMPARE(middle.inScale.front().kind, LimitKind::kRecommended);
    QCOMPARE(middle.shelf.size(), std::size_t{2});
    QCOMPARE(middle.shelf.front().kind, LimitKind::kHighWatermark);
    QVERIFY(middle.topBytes > 8 * kGi && middle.topBytes < 9 * kGi);
    QCOMPARE(middle.number(8 * kGi), QStringLiteral("8"));

    const MemoryScale high = makeMemoryScale(10 * kGi, limits, 5);  // over 85 % of 11.2 GiB
    QCOMPARE(high.inScale.size(), std::size_t{2});
    QCOMPARE(high.shelf.size(), std::size_t{1});

    // One that a script has lowered is the first to be met.
    const MemoryScale lowered = makeMemoryScale(
        0.5 * kGi,
        {{LimitKind::kRecommended, 8 * kGi, 1}, {LimitKind::kHighWatermark, 4 * kGi, 0.5}}, 5);
    QCOMPARE(lowered.shelf.size(), std::size_t{2});

    const MemoryScale unlimited = makeMemoryScale(0, {{LimitKind::kRecommended, 0, 1}}, 5);
    QVERIFY(unlimited.inScale.empty() && unlimited.shelf.empty());
    QVERIFY(unlimited.topBytes > 0);
  }

  void limitLabelsAreTrueToOnePercent() {
    constexpr double kMi = 1024.0 * 1024;
    QCOMPARE(limitText(870 * kMi), QStringLiteral("870 MiB"));
    QCOMPARE(limitText(717 * kMi), QStringLiteral("717 MiB"));
    QCOMPARE(limitText(512 * kMi), QStringLiteral("512 MiB"));
    QCOMPARE(limitText(8 * kGi), QStringLiteral("8.00 GiB"));
    for (double bytes = 1; bytes < 4096 * kGi; bytes *= 1.0173) {
      const QStringList parts = limitText(bytes).split(u' ');
      QCOMPARE(parts.size(), 2);
      const double unit = parts[1] == "GiB"   ? kGi
                          : parts[1] == "MiB" ? kMi
                          : parts[1] == "KiB" ? 1024
                                              : 1;
      const double shown = parts[0].toDouble() * unit;
      QVERIFY2(bytes < 100 || std::abs(shown / bytes - 1) <= 0.01, qPrintable(limitText(bytes)));
    }
  }

  void valueScalesAreRound() {
    const ValueScale scale = makeValueScale(201, 2);
    QCOMPARE(scale.tick, 200.0);
    QVERIFY(scale.top >= 201);
    QCOMPARE(makeValueScale(0, 2).top, 1.0);
  }
};

HIGHWATER_TEST(TestTimeAxis, QCoreApplication)
#include "tst_time_axis.moc"
