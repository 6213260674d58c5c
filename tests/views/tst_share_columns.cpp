// Merged spans of the timeline: what a pixel shows agrees with a full walk over the spans.
#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>
#include <array>
#include <random>

#include "analysis/step_events.h"
#include "support/pane_bench.h"
#include "support/test_program.h"
#include "views/lanes/event_lane.h"
#include "views/lanes/share_columns.h"

using namespace highwater;
using namespace highwater::views;
using events::Phase;
using test::kMs;
using test::TimelineBench;

namespace {

/// A step of 100 ms: the host waits in the device move for the step before.
void addStep(test::OwnedBatch& batch, std::uint32_t step, std::int64_t beginNs) {
  std::int64_t atNs = beginNs;
  const auto add = [&](Phase phase, std::int64_t ms) {
    batch.phases.emplace_back(atNs, ms * kMs, step, test::kTrainingThread, phase);
    atNs += ms * kMs;
  };
  add(Phase::BatchAssembly, 3);
  add(Phase::DeviceMove, 87);
  add(Phase::Forward, 2);
  add(Phase::LossRead, 1);
  add(Phase::Backward, 4);
  add(Phase::OptimizerStep, 3);
  batch.steps.emplace_back(beginNs, 100 * kMs, 1, 1, -1, step, 16, 64, 1024, 0, 0, 0);
}

}  // namespace

class TestShareColumns : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QApplication::setPalette(Theme::dark().palette()); }
  void cleanupTestCase() { QApplication::setPalette(Theme::dark().palette()); }

  void heightsAgreeWithTheirShares() {
    std::mt19937 random(5);
    for (int round = 0; round < 3000; ++round) {
      const int pixels = 1 + static_cast<int>(random() % 40);
      std::vector<SharePart> parts(1 + random() % 6);
      double sum = 0;
      for (SharePart& part : parts) sum += part.share = static_cast<double>(random() % 1000);
      const double filled = static_cast<double>(random() % 101) / 100;
      for (SharePart& part : parts) part.share *= sum > 0 ? filled / sum : 0;
      const std::vector<int> heights = stackHeights(parts, pixels);
      int total = 0;
      double shares = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        QVERIFY(std::abs(heights[i] - parts[i].share * pixels) <= 1 + 1e-9);
        total += heights[i];
        shares += parts[i].share;
      }
      QVERIFY(std::abs(total - shares * pixels) <= 0.5 + 1e-9);
    }
  }

  void whatMustBeSeenKeepsItsHeight() {
    std::mt19937 random(6);
    for (int round = 0; round < 3000; ++round) {
      std::vector<SharePart> parts(1 + random() % 4);
      int least = 0;
      double left = 1;
      for (SharePart& part : parts) {
        part.leastPixels = static_cast<int>(random() % 3);
        part.share = random() % 2 == 0 ? 0.001 : left * static_cast<double>(random() % 100) / 100;
        left -= part.share;
        least += part.leastPixels;
      }
      const int pixels = 12;
      const std::vector<int> heights = stackHeights(parts, pixels);
      int total = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        QVERIFY(heights[i] >= parts[i].leastPixels);
        total += heights[i];
      }
      QVERIFY(least <= pixels && total <= pixels);
    }
    const std::array<SharePart, 3> tooMany{{{1, 2}, {0, 2}, {0, 2}}};
    const std::vector<int> heights = stackHeights(tooMany, 3);
    QVERIFY(heights[0] + heights[1] + heights[2] <= 3);
  }

  void glyphsKeepTheirDistanceAndTheRankingOnesStay() {
    std::mt19937 random(8);
    for (int round = 0; round < 1000; ++round) {
      std::vector<PlacedGlyph> glyphs;
      for (unsigned i = random() % 60; i > 0; --i) {
        glyphs.push_back({static_cast<double>(random() % 300), 0, static_cast<int>(random() % 2),
                          random() % 2 == 0 ? kGlyphGap : kMergedGlyphGap});
      }
      const std::vector<PlacedGlyph> shown = thinnedGlyphs(glyphs);
      for (std::size_t i = 1; i < shown.size(); ++i) {
        QVERIFY(shown[i].x - shown[i - 1].x >= std::max(shown[i].gap, shown[i - 1].gap));
      }
      for (const PlacedGlyph& each : glyphs) {
        // Each is shown, or one beside it is that matters as much.
        const bool seen = std::any_of(shown.begin(), shown.end(), [&](const PlacedGlyph& other) {
          return other.rank >= each.rank && std::abs(other.x - each.x) < kMergedGlyphGap;
        });
        if (each.rank == 1) QVERIFY(seen);
      }
    }
  }

  /// Each pixel of the row against a walk over all phases.
  void everyPixelAgreesWithAFullWalk_data() {
    QTest::addColumn<int>("steps");
    QTest::addColumn<unsigned>("seed");
    for (const int steps : {400, 3000}) {
      for (unsigned seed = 0; seed < 3; ++seed) {
        QTest::addRow("%d steps, seed %u", steps, seed) << steps << seed;
      }
    }
  }

  void everyPixelAgreesWithAFullWalk() {
    QFETCH(int, steps);
    QFETCH(unsigned, seed);
    std::mt19937 random(seed);
    TimelineBench bench;
    test::OwnedBatch batch;
    std::int64_t ns = 0;
    for (int step = 1; step <= steps; ++step) {
      const std::int64_t beginNs = ns;
      for (int phase = 1; phase <= 6; ++phase) {
        ns += random() % 4 == 0 ? static_cast<std::int64_t>(random() % 300'000) : 0;
        const auto length = static_cast<std::int64_t>(random() % 900'000);
        batch.phases.emplace_back(ns, length, static_cast<std::uint32_t>(step),
                                  test::kTrainingThread, static_cast<Phase>(phase));
        ns += length;
      }
      batch.steps.emplace_back(beginNs, ns - beginNs, 1, 1, -1, static_cast<std::uint32_t>(step),
                               16, 64, 1024, 0, 0, 0);
    }
    batch.completeUpToNs = ns;
    bench.apply(batch);
    const QImage image = bench.render(300);
    const TimeScale scale = bench.pane.scale();
    const LaneRow row = bench.pane.rows().of(Lane::kPhases);
    const int top = int(row.top) + 3, height = int(row.height) - 7;
    const QRect plot = bench.pane.plotRect();
    std::vector<std::array<std::int64_t, 7>> sums(static_cast<std::size_t>(plot.width()));
    const auto edge = [&](int column) {
      return scale.range.beginNs +
             static_cast<std::int64_t>(std::ceil(column * scale.nsPerPixel()));
    };
    for (int column = 0; column < plot.width(); ++column) {
      for (const events::PhaseSpan& phase : batch.phases) {
        const std::int64_t part =
            std::min(phase.begin_ns() + phase.duration_ns(), edge(column + 1)) -
            std::max(phase.begin_ns(), edge(column));
        sums[std::size_t(column)][std::size_t(phase.phase())] += std::max<std::int64_t>(part, 0);
      }
    }
    for (int column = 0; column < plot.width(); ++column) {
      std::vector<SharePart> parts;
      std::vector<QRgb> colors;
      for (int phase = 6; phase >= 1; --phase) {
        parts.push_back({double(sums[std::size_t(column)][std::size_t(phase)]) /
                         double(edge(column + 1) - edge(column))});
        colors.push_back(Theme::dark().phase(static_cast<Phase>(phase)).rgb());
      }
      const std::vector<int> heights = stackHeights(parts, height);
      int y = top + height - 1;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        for (int pixel = 0; pixel < heights[i]; ++pixel, --y) {
          QCOMPARE(image.pixel(plot.left() + column, y), colors[i]);
        }
      }
    }
  }

  /// One short unplanned wait among a thousand planned ones is seen, as a bar and as a glyph.
  void unplannedWaitsDoNotDisappear() {
    TimelineBench bench;
    test::OwnedBatch batch;
    for (std::uint32_t i = 0; i < 3000; ++i) {
      const bool planned = i != 1501;
      batch.syncPoints.emplace_back(i * kMs, planned ? 900'000 : 1'000, 4, i + 1, test::kCopy,
                                    kNoId, kNoId, test::kTrainingThread,
                                    events::SyncKind::CopyToDevice, Phase::DeviceMove,
                                    std::uint8_t{planned});
      batch.steps.emplace_back(i * kMs, kMs, 1, 1, -1, i + 1, 16, 64, 1024, 0, 0, 0);
    }
    batch.completeUpToNs = 3000 * kMs;
    bench.apply(batch);
    const QImage image = bench.render(700);
    const LaneRow row = bench.pane.rows().of(Lane::kSyncPoints);
    const int x = int(bench.pane.scale().pixelAt(1501 * kMs));
    const QColor orange = Theme::dark().orange;
    int bar = 0, glyph = 0;
    for (int dx = -12; dx <= 12; ++dx) {
      for (int y = int(row.top); y < int(row.top + row.height); ++y) {
        if (image.pixelColor(x + dx, y) != orange) continue;
        ++(y < row.top + 11 ? glyph : bar);
      }
    }
    QVERIFY2(bar >= 2, qPrintable(QString::number(bar)));
    QVERIFY2(glyph >= 10, qPrintable(QString::number(glyph)));
  }

  void theTooltipOfAColumnNamesItsShares() {
    TimelineBench bench;
    test::OwnedBatch batch;
    for (std::uint32_t step = 1; step <= 3600; ++step) addStep(batch, step, (step - 1) * 100 * kMs);
    batch.completeUpToNs = 360'000 * kMs;
    bench.apply(batch);
    bench.render(1200);
    bench.pane.show();
    QVERIFY(QTest::qWaitForWindowExposed(&bench.pane, test::kWaitMs));
    const LaneRow row = bench.pane.rows().of(Lane::kPhases);
    QTest::mouseMove(&bench.pane, {600, int(row.top) + 10});
    QTRY_VERIFY(QToolTip::isVisible());
    QVERIFY2(QToolTip::text().contains("device move 8"), qPrintable(QToolTip::text()));
    QVERIFY(QToolTip::text().contains("in this pixel"));
    // Near enough, it names the event.
    bench.axis.setVisible({0, 200 * kMs});
    bench.render(1200);
    QTest::mouseMove(&bench.pane, {601, int(row.top) + 10});
    QTRY_VERIFY(QToolTip::text().contains("step "));
    QVERIFY(!QToolTip::text().contains("in this pixel"));
  }
};

HIGHWATER_TEST(TestShareColumns, QApplication)
#include "tst_share_columns.moc"
